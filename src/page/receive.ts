/** Sends the page's requests, and says why a response is missing. */

/** What to do if a response is not from the server. */
export const checkProxy = 'Check the proxy in front of the server';

/**
 * Sends a request without cookies, and returns the response with its whole body. Throws an error if there is none,
 * whose message is a reason and what to do: `no response was received. Check that the server is running`.
 */
export async function receive(
  url: string, init: RequestInit = {},
): Promise<{ readonly response: Response; readonly text: string }> {
  const options: RequestInit = { ...init, credentials: 'omit', redirect: 'manual' };
  const response = await fetch(url, options).catch(() => {
    throw new Error('no response was received. Check that the server is running');
  });
  // It could lead to another server, which must not receive the key.
  if (response.type === 'opaqueredirect') {
    throw new Error(`the response is a redirect, which this page does not follow. ${checkProxy}`);
  }
  const text = await response.text().catch(() => {
    throw new Error(`the body of the response ${statusOf(response)} is incomplete. Check the connection to the server`);
  });
  return { response, text };
}

/** Returns the status of a response with its reason phrase, if it has one: `404 Not Found`. */
export function statusOf({ status, statusText }: Response): string {
  return `${status} ${statusText}`.trim();
}
