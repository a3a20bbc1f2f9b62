import { describe, expect, test } from 'bun:test';

import { AddressError, parseAddress } from '../../src/core/databaseUrl.ts';

describe('the address of the database', () => {
  test('names user, password, host, port and database, with special characters as %xx', () => {
    expect(parseAddress('postgres://us%40er:p%3Aw%2F@db.example.com:6432/key%20stile')).toMatchObject({
      hosts: [{ host: 'db.example.com', port: 6432 }],
      user: 'us@er',
      password: 'p:w/',
      database: 'key stile',
      tls: 'off',
    });
  });

  test('has defaults as PostgreSQL has them', () => {
    expect(parseAddress('postgresql://db')).toMatchObject({
      hosts: [{ host: 'db', port: 5432 }],
      user: 'postgres',
      password: null,
      database: 'postgres',
      applicationName: 'keystile',
      connectTimeoutMs: 3000,
    });
    expect(parseAddress('postgres://keystile@db').database).toBe('keystile');
  });

  test('may name several hosts, also by IPv6', () => {
    const { hosts } = parseAddress('postgres://u@a:1,b,[::1]:5433,127.0.0.1/x?target_session_attrs=read-write');
    expect(hosts).toEqual([
      { host: 'a', port: 1 },
      { host: 'b', port: 5432 },
      { host: '::1', port: 5433 },
      { host: '127.0.0.1', port: 5432 },
    ]);
  });

  test.each([
    ['disable', 'off'],
    ['require', 'verified'],
    ['verify-ca', 'verified'],
    ['verify-full', 'verified'],
  ])('sslmode=%s is %s', (mode, tls) => {
    expect(parseAddress(`postgres://u@db/x?sslmode=${mode}&sslrootcert=/ca.pem`)).toMatchObject({
      tls: tls as 'off',
      tlsRootFile: '/ca.pem',
    });
  });

  test('sslmode=require without a root certificate is encrypted and not verified', () => {
    expect(parseAddress('postgres://u@db/x?sslmode=require').tls).toBe('unverified');
  });

  test.each([
    ['postgres://u:secretword/2@db/x', 'has an @, / or ?'],
    ['postgres://u:12?secretword@db/x', 'has an @, / or ?'],
    ['mysql://u:secretword@db/x', 'must look like postgres://'],
    ['db.example.com', 'must look like postgres://'],
    ['postgres://u:secretword@/x', 'needs hosts'],
    ['postgres://u:secretword@db:0/x', 'needs hosts'],
    ['postgres://u:secretword@db:70000/x', 'needs hosts'],
    ['postgres://u:secretword@a,,b/x', 'needs hosts'],
    ['postgres://u:secretword@db/x?pool=3', 'has the unknown parameter pool'],
    ['postgres://u:secretword@db/x?sslmode=prefer', 'sslmode'],
    ['postgres://u:secretword@db/x?target_session_attrs=any', 'target_session_attrs'],
    ['postgres://u:secretword@db/x?connect_timeout=0', 'connect_timeout'],
    ['postgres://u:secretword%@db/x', 'has a %'],
  ])('%s is refused, in a sentence that does not repeat the password', (url, words) => {
    let message = '';
    try {
      parseAddress(url);
    } catch (error) {
      if (error instanceof AddressError) message = error.message;
    }
    expect(message).toContain(words);
    expect(message).toContain('KEYSTILE_DATABASE_URL');
    expect(message).not.toContain('secretword');
  });
});
