/** Tells an operator what a start does that may take long: a constant text and its values. */
export type Tell = (message: string, fields: Readonly<Record<string, string | number>>) => void;
