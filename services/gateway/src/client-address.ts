/** Where a request comes from: the peer of its connection, or whom a trusted proxy names as its client. */
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6 } from 'node:net';
import express from 'express';
import type { Config } from '@svc/runtime/config.ts';

export interface ClientAddresses {
  /** The client's address, for limits, audit and logs. */
  of(request: IncomingMessage): string;
  /** Whether many clients may come over connections from there. */
  isProxy(peer: string): boolean;
}

type Trust = (address: string, hop: number) => boolean;

/** `trusted`: SVC_TRUST_PROXY; undefined = nobody is believed. */
export function createClientAddresses(trusted: Config['SVC_TRUST_PROXY']): ClientAddresses {
  const app = express();
  app.set('trust proxy', trusted ?? false);
  const trust = app.get('trust proxy fn') as Trust;
  return {
    isProxy: (peer) => trust(peer, 0),
    of(request) {
      let address = peerOf(request.socket);
      if (trusted === undefined) return address;
      const named = headerAddresses(request.headers['x-forwarded-for']);
      for (let hop = 0; trust(address, hop); hop += 1) {
        const before = plainAddress(named.pop() ?? '');
        if (before === null) break;
        address = before;
      }
      return address;
    },
  };
}

/** Without the prefix that a dual-stack listener puts before addresses of the old kind. */
export function peerOf({ remoteAddress = 'unknown' }: { readonly remoteAddress?: string | undefined }): string {
  return withoutPrefix(remoteAddress);
}

/** What counts as one client: the address, of the new kind the network of 64 bits that one customer has. */
export function clientNetwork(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail] = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1).split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after];
  return `${groups.slice(0, 4).join(':')}::/64`;
}

function headerAddresses(header: string | string[] | undefined): string[] {
  if (header === undefined) return [];
  return (typeof header === 'string' ? header : header.join(',')).split(',');
}

/** Some proxies write the port too; null for what is no address. */
function plainAddress(text: string): string | null {
  const trimmed = text.trim();
  const inner = /^\[([0-9a-f:.]+)\](?::\d+)?$/i.exec(trimmed)?.[1] ?? /^([\d.]+):\d+$/.exec(trimmed)?.[1] ?? trimmed;
  return isIP(inner) === 0 ? null : withoutPrefix(inner);
}

function withoutPrefix(address: string): string {
  return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
}
