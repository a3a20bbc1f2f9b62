/** The largest time that a Date can hold (ECMA-262, 21.4.1.1). A key may expire later. */
export const MAX_DATE_MS = 8_640_000_000_000_000;
