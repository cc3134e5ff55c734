/** Names resolved once, judged, and connected to as they were judged. */
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Agent } from 'undici';
import { decideAddresses, type NetworkPolicy, type Target } from './domain/target.ts';

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export async function resolveAll(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

export function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
}

export async function decideReachable(
  { host, port }: Pick<Target, 'host' | 'port'>,
  policy: Pick<NetworkPolicy, 'allowPrivate' | 'ownAddresses'>,
  resolve: Resolve,
): Promise<Decision<readonly string[], 'E_ADDRESS_DENIED' | 'E_UNREACHABLE'>> {
  let addresses: readonly string[];
  try {
    addresses = isIP(host) === 0 ? await resolve(host) : [host];
  } catch {
    return deny('E_UNREACHABLE', { problem: 'The name does not resolve.' });
  }
  const reachable = decideAddresses(addresses, port, policy);
  return reachable.ok ? allow(addresses) : reachable;
}

/** Connects to these addresses alone. Its library is loaded with the first of them, because most nodes never fetch. */
export async function pinnedAgent(addresses: readonly string[]): Promise<Agent> {
  const undici = await import('undici');
  return new undici.Agent({ connect: { lookup: pinnedTo(addresses) }, pipelining: 0 });
}

/** In the place of the system's look-up, which might say something else by now. */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, options, done) => {
    const [first = { address: '', family: 4 }] = all;
    if (options.all === true) done(null, all);
    else done(null, first.address, first.family);
  };
}
