/** The metadata of a record, closed at first because it can be long. */
export function Meta({ of: meta }: { readonly of: object }) {
  if (Object.keys(meta).length === 0) return null;
  return (
    <details>
      <summary>Metadata</summary>
      <pre dir="auto">{JSON.stringify(meta, null, 2)}</pre>
    </details>
  );
}
