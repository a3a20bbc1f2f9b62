/**
 * The parts of the program that only some commands need: the service with its schemas, its engine and both databases. They
 * are loaded when a command needs them. Help, and a command that a running server answers, start without them.
 */
export const LOAD = {
  serve: () => import('../serve/serve.ts'),
  inProcess: () => import('./inProcess.ts'),
  backup: () => import('./backup.ts'),
  doctor: () => import('./doctor/examineAll.ts'),
};
