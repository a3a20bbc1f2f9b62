/** The URL of the service for users of this machine. */
export function localUrl(host: string, port: number, isSecure: boolean): string {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `${isSecure ? 'https' : 'http'}://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
