export { protect } from './fetch.js';
