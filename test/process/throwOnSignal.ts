/** Loaded before the program, it fails where nobody catches it: a bug that is made on demand. */
process.on('SIGUSR2', () => {
  throw new Error('made for a test');
});
process.on('SIGUSR1', () => void Promise.reject(new Error('made for a test')));
