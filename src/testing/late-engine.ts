import type { Engine } from '../engine.ts';

const { setImmediate } = globalThis; // a test may replace it
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Returns the same engine, but every value must be waited for, as if it came from another process. It is determined one
 * turn of the event loop after the call, and arrives another turn later.
 */
export function lateEngine(engine: Engine): Engine {
  const { accounts, pets, orders, keys } = engine;
  return new Proxy(engine, {
    get(of, name) {
      switch (name) {
        case 'accounts': return late(accounts);
        case 'pets': return late(pets);
        case 'orders': return late(orders);
        case 'keys': return late(keys);
        case 'figures': return late(of).figures;
        default: {
          const value: unknown = Reflect.get(of, name, of);
          return typeof value === 'function' ? value.bind(of) : value;
        }
      }
    },
  });
}

function late<T extends object>(target: T): T {
  return new Proxy(target, {
    get(of, name) {
      const value: unknown = Reflect.get(of, name, of);
      if (typeof value !== 'function') return value;
      return async (...parameters: unknown[]): Promise<unknown> => {
        await nextTurn();
        const result: unknown = await value.apply(of, parameters);
        await nextTurn();
        return result;
      };
    },
  });
}
