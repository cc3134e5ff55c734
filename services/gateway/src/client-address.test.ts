import type { IncomingMessage } from 'node:http';
import { readConfig } from '@svc/runtime/config.ts';
import { describe, expect, test } from 'vitest';
import { clientNetwork, createClientAddresses } from './client-address.ts';

function addressOf(trust: string | undefined, peer: string, forwarded?: string): string {
  const { config } = readConfig({ SVC_TRUST_PROXY: trust }, () => '');
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  const request = { socket: { remoteAddress: peer }, headers } as unknown as IncomingMessage;
  return createClientAddresses(config.SVC_TRUST_PROXY).of(request);
}

describe('the address of a client', () => {
  test.each([
    ['nobody is believed', undefined, '10.0.0.1', '1.2.3.4', '10.0.0.1'],
    ['one hop', '1', '10.0.0.1', '1.2.3.4', '1.2.3.4'],
    ['one hop, more was claimed', '1', '10.0.0.1', '6.6.6.6, 1.2.3.4', '1.2.3.4'],
    ['two hops', '2', '10.0.0.1', '6.6.6.6, 1.2.3.4, 10.0.0.2', '1.2.3.4'],
    ['a proxy that names nobody', '1', '10.0.0.1', undefined, '10.0.0.1'],
    ['a name that is no address', '2', '10.0.0.1', 'unknown, 10.0.0.2', '10.0.0.2'],
    ['networks', '10.0.0.0/8, fd00::/8', '::ffff:10.0.0.1', '6.6.6.6, 1.2.3.4, 10.9.9.9', '1.2.3.4'],
    ['a peer outside the networks', '10.0.0.0/8', '192.0.2.1', '1.2.3.4', '192.0.2.1'],
    ['ports are left out', '1', '10.0.0.1', '1.2.3.4:5678', '1.2.3.4'],
    ['of IPv6 too', '1', '10.0.0.1', '[2001:db8::1]:443', '2001:db8::1'],
  ])('%s', (_title, trust, peer, forwarded, address) => {
    expect(addressOf(trust, peer, forwarded)).toBe(address);
  });

  test.each(['yes', '0', '17', '10.0.0.0/33', '10.0.0', ''])('SVC_TRUST_PROXY=%j is refused or absent', (trust) => {
    const read = () => addressOf(trust, '10.0.0.1', '1.2.3.4');
    if (trust === '') expect(read()).toBe('10.0.0.1');
    else expect(read).toThrow('SVC_TRUST_PROXY');
  });
});

test.each([
  ['1.2.3.4', '1.2.3.4'],
  ['unknown', 'unknown'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::6', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%s counts as %s', (address, network) => {
  expect(clientNetwork(address)).toBe(network);
});
