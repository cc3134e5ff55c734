import { expect, test } from 'vitest';
import { canonicalAddress, isPublicAddress } from './address.ts';
import { decideAddresses, decideHost, targetOf } from './target.ts';

const SPECIAL =
  `0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.7 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 ::7f00:1 ::ffff:10.0.0.1 ::ffff:7f00:1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2001:10::1 2001:20::1 2002:7f00:1:: 2002:a00:1::1 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%lo fec0::1 ff02::1 4000::1 1.2.3 0x7f.0.0.1 017700000001 name`.split(
    ' ',
  );
const PUBLIC = ['1.1.1.1', '8.8.8.8', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::808:808', '2002:808:808::1'];

test('what is special of both families is not public, in whatever form', () => {
  for (const address of SPECIAL) expect(isPublicAddress(address), address).toBe(false);
  for (const address of PUBLIC) expect(isPublicAddress(address), address).toBe(true);
  expect(canonicalAddress('::ffff:7f00:1')).toBe('127.0.0.1');
  expect(canonicalAddress('0:0::1')).toBe('::1');
});

test('only http without a user is an address', () => {
  for (const none of ['', 'x', 'ftp://a.b/', 'file:///etc/passwd', 'http://a@b.c/', 'http://a:b@b.c', 'javascript:1']) {
    expect(targetOf(none), none).toBeNull();
  }
  expect(targetOf('http://2130706433')).toMatchObject({ host: '127.0.0.1', port: 80 });
  expect(targetOf('https://[::FFFF:10.0.0.1]:8443/x')).toMatchObject({ host: '::ffff:a00:1', port: 8443 });
  expect(targetOf('http://Example.ORG./')).toMatchObject({ host: 'example.org', port: 80 });
});

test.each([
  ['example.org', 'http://example.org/', true],
  ['Example.org', 'https://example.org/', true],
  ['example.org', 'http://example.org:8080/', false],
  ['example.org:8080', 'http://example.org:8080/', true],
  ['example.org:8080', 'http://example.org/', false],
  ['example.org', 'http://a.example.org/', false],
  ['*.example.org', 'http://a.b.example.org/', true],
  ['*.example.org', 'http://example.org/', false],
  ['*.example.org', 'http://badexample.org/', false],
  ['*.example.org', 'http://.example.org/', false],
  ['[::1]:80', 'http://[::1]/', true],
  ['::1', 'http://[::1]/', true],
  ['::1', 'http://[::1]:81/', false],
  ['127.0.0.1:9', 'http://127.1:9/', true],
])('%s lists %s: %s', (entry, url, listed) => {
  const target = targetOf(url);
  if (target === null) return expect(listed).toBe(false);
  return expect(decideHost(target, { allow: [entry] }).ok).toBe(listed);
});

test('one bad address spoils a name, the machine itself is none, and an exception is one endpoint', () => {
  const policy = { allowPrivate: ['127.0.0.1:81', '[fd00::1]:82'], ownAddresses: ['9.9.9.9'] };
  const decided = (addresses: string[], port: number) => decideAddresses(addresses, port, policy).ok;
  expect(decided(['8.8.8.8', '2606:4700::1'], 80)).toBe(true);
  expect(decided(['8.8.8.8', '10.0.0.1'], 80)).toBe(false);
  expect(decided([], 80)).toBe(false);
  expect(decided(['9.9.9.9'], 80)).toBe(false);
  expect(decided(['::ffff:9.9.9.9'], 80)).toBe(false);
  expect(decided(['127.0.0.1'], 81)).toBe(true);
  expect(decided(['::ffff:127.0.0.1'], 81)).toBe(true);
  expect(decided(['127.0.0.1'], 82)).toBe(false);
  expect(decided(['fd00:0::1'], 82)).toBe(true);
});
