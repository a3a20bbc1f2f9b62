/** Without this prefix, the secret is the key of the HMAC in base64. */
const SECRET_PREFIX = 'whsec_';

/** One signature for each secret, in the format of the header `webhook-signature`. */
export function signatures(
  { id, seconds, body }: { readonly id: string; readonly seconds: number; readonly body: string },
  secrets: readonly string[],
): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
      return `v1,${new Bun.CryptoHasher('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`;
    })
    .join(' ');
}
