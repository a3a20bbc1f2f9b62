/** The noun that a group's methods leave out: keys.createKey is `keys.create`. */
const NOUNS: Readonly<Record<string, string>> = {
  keys: 'Key',
  apis: 'Api',
  identities: 'Identity',
  plans: 'Plan',
  permissions: 'Permission',
  rootKeys: 'RootKey',
  portal: 'Portal',
  sessions: 'Session',
  events: 'Event',
  webhooks: 'Webhook',
};

/** The name of an endpoint in its group of the SDK. */
export function sdkMethod(group: string, name: string): string {
  const noun = NOUNS[group];
  if (noun === undefined) return name;
  const plural = noun.endsWith('y') && noun !== 'Key' && noun !== 'RootKey' ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  if (name === `list${plural}`) return 'list';
  return name.endsWith(noun) ? name.slice(0, -noun.length) : name;
}

/** Whether the method goes through all pages of a list. */
export function isSdkList(path: string, isRead: boolean): boolean {
  return isRead && /\.list(?:[A-Z]|$)/.test(path);
}
