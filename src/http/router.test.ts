import assert from 'node:assert/strict';
import test from 'node:test';
import { Router } from './router.ts';
import { decodePath } from './url.ts';

const router = new Router<string>()
  .add('GET', '/pets', 'list')
  .add('POST', '/pets', 'create')
  .add('GET', '/pets/{petId}', 'get')
  .add('GET', '/store/orders', 'orders')
  .add('DELETE', '/a/b/{c}', 'remove');

/** The operations of a path whose GET is `operation`. */
const get = (operation: string): [method: string, operation: string][] => [['GET', operation], ['HEAD', operation]];

test('finds the operations, the parameter and the Allow of a path', () => {
  const cases: [path: string, operations: [string, string][], parameter: string, allow: string][] = [
    ['/pets', [...get('list'), ['POST', 'create']], '', 'GET, HEAD, POST, OPTIONS'],
    ['/%70ets', [...get('list'), ['POST', 'create']], '', 'GET, HEAD, POST, OPTIONS'],
    ['/pets/7', get('get'), '7', 'GET, HEAD, OPTIONS'],
    ['/p%65ts/%37', get('get'), '7', 'GET, HEAD, OPTIONS'],
    ['/pets/a%2Fb', get('get'), 'a%2Fb', 'GET, HEAD, OPTIONS'],
    ['/pets/%2F', get('get'), '%2F', 'GET, HEAD, OPTIONS'],
    ['/pets/pets', get('get'), 'pets', 'GET, HEAD, OPTIONS'],
    ['/pets/{petId}', get('get'), '{petId}', 'GET, HEAD, OPTIONS'],
    ['/pets/__proto__', get('get'), '__proto__', 'GET, HEAD, OPTIONS'],
    ['/pets/%20', get('get'), ' ', 'GET, HEAD, OPTIONS'],
    ['/pets/%2570', get('get'), '%70', 'GET, HEAD, OPTIONS'],
    ['/store/orders', get('orders'), '', 'GET, HEAD, OPTIONS'],
    ['/a/b/x', [['DELETE', 'remove']], 'x', 'DELETE, OPTIONS'],
  ];
  for (const [path, operations, parameter, allow] of cases) {
    const route = router.find(decodePath(path));
    assert(route !== null, path);
    assert.deepEqual([...route.operations], operations);
    assert.equal(route.parameter, parameter);
    assert.equal(route.allow, allow);
  }
});

test('finds nothing for any other path', () => {
  const paths = [
    '', '/', '*', '%', '/%', 'pets', 'pets/7', '/pet', '/Pets', '/pets ', '/pets%20', '/PETS', '/petss', '/__proto__',
    '/constructor',
    '/pets/', '/pets/%', '/%/7', '//pets', '/%2Fpets', '//7', '//', '/pets//', '/pets/7/', '/pets/7/8', '/pets%2F7',
    '/pets%2f', '/pets/7/%38',
    '/store', '/orders', '/store/', '/store/%', '/store%2Forders', '/store/orders/', '/store/orders/1',
    '/store//orders',
    '/a/x', '/a/b', '/a/b/', '/a//x', '/a%2Fb/x', '/a/b/x/', '/a/b/x/y', '/a/b%2F/x', '/x/b/x', '/%E4/7', '/pets/%E4',
  ];
  for (const path of paths) assert.equal(router.find(decodePath(path)), null, path);
});

test('prefers a pattern without a parameter to one with a parameter', () => {
  const overlapping = new Router<number>().add('GET', '/a/{b}', 1).add('GET', '/a/x', 2).add('GET', '/{c}', 3);
  const found = (path: string) => {
    const route = overlapping.find(decodePath(path));
    return route && [route.operations.get('GET'), route.parameter];
  };
  assert.deepEqual(found('/a/x'), [2, '']);
  assert.deepEqual(found('/a/%78'), [2, '']);
  assert.deepEqual(found('/a/y'), [1, 'y']);
  assert.deepEqual(found('/a'), [3, 'a']);
  assert.deepEqual(found('/%61'), [3, 'a']);
});

test('finds nothing without patterns, and lists methods in the order in which they were added', () => {
  assert.equal(new Router<number>().find('/a'), null);
  const threeMethods = new Router<number>().add('PUT', '/a', 1).add('GET', '/a', 2).add('PATCH', '/a', 3);
  const { allow, operations } = threeMethods.find('/a')!;
  assert.equal(allow, 'PUT, GET, HEAD, PATCH, OPTIONS');
  assert.deepEqual([...operations.keys()], ['PUT', 'GET', 'HEAD', 'PATCH']);
});
