import assert from 'node:assert/strict';
import test from 'node:test';
import { Router } from './router.ts';

const router = new Router<string>()
  .add('GET', 'pets', 'list')
  .add('POST', 'pets', 'create')
  .add('GET', 'pets/{petId}', 'get')
  .add('GET', 'store/orders', 'orders')
  .add('DELETE', 'a/{b}/c', 'remove');

test('a path finds its operations, its parameter and its Allow', () => {
  const cases: [path: string[], operations: [string, string][], parameter: string, allow: string][] = [
    [['pets'], [['GET', 'list'], ['POST', 'create']], '', 'GET, HEAD, POST, OPTIONS'],
    [['pets', '7'], [['GET', 'get']], '7', 'GET, HEAD, OPTIONS'],
    [['pets', 'a/b'], [['GET', 'get']], 'a/b', 'GET, HEAD, OPTIONS'],
    [['pets', 'pets'], [['GET', 'get']], 'pets', 'GET, HEAD, OPTIONS'],
    [['pets', '{petId}'], [['GET', 'get']], '{petId}', 'GET, HEAD, OPTIONS'],
    [['pets', '__proto__'], [['GET', 'get']], '__proto__', 'GET, HEAD, OPTIONS'],
    [['pets', ' '], [['GET', 'get']], ' ', 'GET, HEAD, OPTIONS'],
    [['store', 'orders'], [['GET', 'orders']], '', 'GET, HEAD, OPTIONS'],
    [['a', 'x', 'c'], [['DELETE', 'remove']], 'x', 'DELETE, OPTIONS'],
  ];
  for (const [path, operations, parameter, allow] of cases) {
    const route = router.find(path);
    assert(route !== null, path.join('/'));
    assert.deepEqual([...route.operations], operations);
    assert.equal(route.parameter, parameter);
    assert.equal(route.allow, allow);
  }
});

test('every other path finds nothing', () => {
  const paths: (string | null)[][] = [
    [], [''], [null], ['pet'], ['Pets'], ['pets '], ['PETS'], ['petss'], ['pets/7'], ['__proto__'], ['constructor'],
    ['pets', ''], ['pets', null], [null, '7'], ['', 'pets'], ['pets', '', ''], ['pets', '7', ''], ['pets', '7', '8'],
    ['store'], ['orders'], ['store', ''], ['store', null], ['store', 'orders', ''], ['store', 'orders', '1'],
    ['a', 'x'], ['a', '', 'c'], ['a', null, 'c'], ['a', 'x', 'C'], ['a', 'x', 'c', 'd'], ['x', 'x', 'c'],
  ];
  for (const path of paths) assert.equal(router.find(path), null, JSON.stringify(path));
});

test('a parameter is that of the pattern that matched, not of one tried before', () => {
  const overlapping = new Router<number>().add('GET', '{a}/x', 1).add('GET', 'b/{c}', 2).add('GET', 'd/y', 3);
  const found = (...path: string[]) => {
    const route = overlapping.find(path);
    return route && [route.operations.get('GET'), route.parameter];
  };
  assert.deepEqual(found('b', 'x'), [1, 'b'], 'the first that was added wins');
  assert.deepEqual(found('b', 'z'), [2, 'z']);
  assert.deepEqual(found('d', 'y'), [3, '']);
  assert.equal(found('d', 'z'), null);
});

test('a router without patterns finds nothing, and methods come in the order of their adding', () => {
  assert.equal(new Router<number>().find(['a']), null);
  const { allow, operations } = new Router<number>().add('PUT', 'a', 1).add('GET', 'a', 2).add('PATCH', 'a', 3).find(['a'])!;
  assert.equal(allow, 'PUT, GET, HEAD, PATCH, OPTIONS');
  assert.deepEqual([...operations.keys()], ['PUT', 'GET', 'PATCH']);
});
