/** Text is compared byte by byte, as SQLite does it: ids have one order everywhere. */
export const TEXT = 'text COLLATE "C"';
