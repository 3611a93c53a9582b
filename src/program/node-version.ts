// Refuses an old Node in one line. It imports nothing and uses old syntax: Node reads all static imports of a program
// before it runs the first line, and fails on what it does not know. The build puts it at the start of each bundle.
const nodeVersion = process.versions.node;
if (Number(nodeVersion.split('.')[0]) < 20) {
  const problem = `this is Node ${nodeVersion}, but Node 20 or later is needed`;
  process.stderr.write(`petstore: ${problem}; install a newer version\n`);
  process.exit(1);
}
