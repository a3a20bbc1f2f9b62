export { type Passed, protect, type ProtectOptions } from './fetch.js';
