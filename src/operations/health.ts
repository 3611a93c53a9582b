import { ApiError } from '../http/api-error.ts';
import { bytesOf } from '../domain/byte-text.ts';
import type { Engine } from '../engine.ts';
import type { Operation } from './operation.ts';

/** `GET /healthz`: the process responds. */
export function health(): Operation {
  const reply = { status: 200, headers: [], body: bytesOf('{"status":"ok"}') };
  return { name: 'healthz', takesJson: false, begin: () => () => reply };
}

/** `GET /readyz`: animals can be listed and saved, so a load balancer may send requests. */
export function readiness(engine: Engine, isStopping: () => boolean): Operation {
  return {
    name: 'readyz',
    takesJson: false,
    begin: () => async () => {
      if (isStopping()) throw shuttingDown();
      if (engine.progress < 100) throw starting(engine.progress);
      if (await engine.pets.writable()) return { status: 200, headers: [], body: bytesOf('{"status":"ready"}') };
      throw new ApiError('not_ready', 'Animals cannot be saved at the moment.', { retryAfterSeconds: 5 });
    },
  };
}

/** The refusal of a request that arrives before all animals have been read: so much of them has, in percent. */
export function starting(percent?: number): ApiError {
  return new ApiError('not_ready', 'The server is starting.', { retryAfterSeconds: 5, percent });
}

/** The refusal of a request that arrives while the server stops. */
export function shuttingDown(): ApiError {
  return new ApiError('shutting_down', 'The server is stopping.', { retryAfterSeconds: 5 });
}
