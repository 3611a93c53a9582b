// Loaded into the server under test with --import. `Date.now` always returns the time in TRANSCRIPT_NOW (RFC 3339), and
// serializing the string 'provoke a bug' throws, so that status 500 can be recorded too. `performance.now` stands still
// as well: on a slow machine, the throttle would hold connections, and the 120 pipelined requests that wait then would
// take too much memory.
const now = Date.parse(process.env.TRANSCRIPT_NOW);
Date.now = () => now;
performance.now = () => 0;
const { stringify } = JSON;
JSON.stringify = (value, ...more) => {
  if (value === 'provoke a bug') throw new Error('a bug');
  return stringify(value, ...more);
};
