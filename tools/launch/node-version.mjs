// Old Node versions must be able to parse this file and every entry file. Otherwise the user sees a syntax error instead of
// the message below. So these files use no syntax newer than ES2015 and import().

var OLDEST_NODE_MAJOR = 20;

export function requireSupportedNode() {
  var major = Number(process.versions.node.split('.')[0]);
  if (major >= OLDEST_NODE_MAJOR) return;
  console.error(
    'Keystile needs Node ' +
      OLDEST_NODE_MAJOR +
      ' or later, but this is ' +
      process.version +
      '. Install a newer Node from https://nodejs.org and run the same command again.',
  );
  process.exit(1);
}
