<?php
// The pet store in PHP without a framework, after the PHP manual (the router script of the built-in web server, PDO,
// filter_var, JSON_THROW_ON_ERROR) and the documentation of symfony/rate-limiter: a token bucket for the minute and one
// for the day of each key, combined, whose state is in a cache on disk.
//
//   php -S 127.0.0.1:0 server.php
//
// PEER_KEYS are the keys and PEER_DATA the folder for files, as for the other peers (../contract.mjs).
use Symfony\Component\Cache\Adapter\FilesystemAdapter;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\FlockStore;
use Symfony\Component\RateLimiter\CompoundLimiter;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\CacheStorage;

require 'packages.php';

const PER_MINUTE_WITHOUT_KEY = 60;
const PER_DAY_WITHOUT_KEY = 1_000;
const STATUSES = ['available', 'pending', 'sold'];

function respond(int $status, mixed $body): never
{
    http_response_code($status);
    header('Content-Type: application/json');
    echo json_encode($body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
    exit;
}

function fail(int $status, string $code, string $message): never
{
    respond($status, ['code' => $code, 'message' => $message, 'status' => $status]);
}

/** The limits of the API key, or null if it is not valid. */
function limitsOf(string $key): ?array
{
    foreach (json_decode(getenv('PEER_KEYS'), true) as $known) {
        if (hash_equals($known['key'], $key)) {
            return $known;
        }
    }
    return null;
}

function limiter(string $id, int $perMinute, int $perDay): CompoundLimiter
{
    $storage = new CacheStorage(new FilesystemAdapter('limits', 0, getenv('PEER_DATA')));
    $locks = new LockFactory(new FlockStore(getenv('PEER_DATA')));
    $bucket = fn (string $name, int $limit, string $interval, int $amount) => (new RateLimiterFactory([
        'id' => $name,
        'policy' => 'token_bucket',
        'limit' => $limit,
        'rate' => ['interval' => $interval, 'amount' => $amount],
    ], $storage, $locks))->create($id);

    return new CompoundLimiter([
        $bucket('minute', $perMinute, '3 seconds', intdiv($perMinute, 20)),
        $bucket('day', $perDay, '1 hour', intdiv($perDay, 24)),
    ]);
}

function database(): PDO
{
    $database = new PDO('sqlite:' . getenv('PEER_DATA') . '/pets.db');
    $database->exec('CREATE TABLE IF NOT EXISTS pets (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
        categoryId INTEGER NOT NULL, status TEXT NOT NULL)');
    return $database;
}

function listPets(): never
{
    $range = ['min_range' => 1, 'max_range' => 100];
    $limit = filter_var($_GET['limit'] ?? 20, FILTER_VALIDATE_INT, ['options' => $range]);
    if ($limit === false) {
        fail(400, 'invalid_limit', 'limit must be an integer from 1 to 100.');
    }
    $status = $_GET['status'] ?? null;
    if ($status !== null && !in_array($status, STATUSES, true)) {
        fail(400, 'invalid_status', 'status must be available, pending or sold.');
    }
    $where = $status === null ? '' : 'WHERE status = :status';
    $select = database()->prepare("SELECT * FROM pets $where ORDER BY id LIMIT :limit");
    $select->bindValue('limit', $limit, PDO::PARAM_INT);
    if ($status !== null) {
        $select->bindValue('status', $status);
    }
    $select->execute();
    respond(200, $select->fetchAll(PDO::FETCH_ASSOC));
}

function createPet(): never
{
    try {
        $pet = json_decode(file_get_contents('php://input'), true, 512, JSON_THROW_ON_ERROR);
    } catch (JsonException $error) {
        fail(400, 'invalid_json', $error->getMessage());
    }
    if (!is_array($pet) || !is_string($pet['name'] ?? null)) {
        fail(400, 'invalid_name', 'name must be a string.');
    }
    if (!is_int($pet['categoryId'] ?? null)) {
        fail(400, 'invalid_category', 'categoryId must be an integer.');
    }
    $status = $pet['status'] ?? 'available';
    if (!in_array($status, STATUSES, true)) {
        fail(400, 'invalid_status', 'status must be available, pending or sold.');
    }
    $database = database();
    $insert = $database->prepare('INSERT INTO pets (name, categoryId, status) VALUES (?, ?, ?)');
    $insert->execute([$pet['name'], $pet['categoryId'], $status]);
    $id = (int) $database->lastInsertId();
    respond(201, ['id' => $id, 'name' => $pet['name'], 'categoryId' => $pet['categoryId'], 'status' => $status]);
}

function getPet(int $id): never
{
    $select = database()->prepare('SELECT * FROM pets WHERE id = ?');
    $select->execute([$id]);
    $pet = $select->fetch(PDO::FETCH_ASSOC);
    $pet === false ? fail(404, 'pet_not_found', 'There is no such animal.') : respond(200, $pet);
}

preg_match('/^Bearer (.+)$/', $_SERVER['HTTP_AUTHORIZATION'] ?? '', $bearer);
$limits = limitsOf($bearer[1] ?? '');

$rate = limiter(
    $limits['key'] ?? $_SERVER['REMOTE_ADDR'],
    $limits['perMinute'] ?? PER_MINUTE_WITHOUT_KEY,
    $limits['perDay'] ?? PER_DAY_WITHOUT_KEY,
)->consume();
header('X-RateLimit-Limit: ' . $rate->getLimit());
header('X-RateLimit-Remaining: ' . $rate->getRemainingTokens());
header('X-RateLimit-Reset: ' . $rate->getRetryAfter()->getTimestamp());
if (!$rate->isAccepted()) {
    header('Retry-After: ' . ($rate->getRetryAfter()->getTimestamp() - time()));
    fail(429, 'rate_limited', 'Too many requests.');
}
if ($limits === null) {
    header('WWW-Authenticate: Bearer');
    fail(401, 'invalid_api_key', 'The API key is missing or invalid.');
}

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$route = "{$_SERVER['REQUEST_METHOD']} $path";
match (true) {
    $route === 'GET /v1/pets' => listPets(),
    $route === 'POST /v1/pets' => createPet(),
    preg_match('#^GET /v1/pets/(\d+)$#', $route, $found) === 1 => getPet((int) $found[1]),
    $route === 'GET /v1/store/orders' => respond(200, []),
    default => fail(404, 'not_found', 'There is no such path.'),
};
