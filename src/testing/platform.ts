import type { TestContext } from 'node:test';

/** Lets `process.platform` have this value until the test ends. */
export function pretendPlatform(t: TestContext, value: string): void {
  const real = Object.getOwnPropertyDescriptor(process, 'platform')!;
  Object.defineProperty(process, 'platform', { ...real, value });
  t.after(() => Object.defineProperty(process, 'platform', real));
}
