<?php
// The packages of Debian and Ubuntu that the server needs, which are in PHP's include path: php-symfony-rate-limiter,
// php-symfony-cache, php-symfony-lock and php-sqlite3. As a program, it fails if one of them is missing.
require 'Symfony/Component/RateLimiter/autoload.php';
require 'Symfony/Component/Cache/autoload.php';
require 'Symfony/Component/Lock/autoload.php';

new PDO('sqlite::memory:');
