/** Where a request may go: to what the operators listed, and there to public addresses alone. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { canonicalAddress, isPublicAddress } from './address.ts';

export interface NetworkPolicy {
  /** `host`, `*.host`, each with `:port` or without. */
  readonly allow: readonly string[];
  /** `ip:port`. */
  readonly allowPrivate: readonly string[];
  /** Of this machine: public ones too lead to what listens here for others. */
  readonly ownAddresses: readonly string[];
}

export interface Target {
  readonly url: URL;
  /** Without brackets and without a dot at its end. */
  readonly host: string;
  readonly port: number;
}

const PLAIN_PORTS: readonly number[] = [80, 443];

/** Null = not an address that is fetched: another scheme, a user or a password in it. */
export function targetOf(text: string, base?: URL): Target | null {
  if (!URL.canParse(text, base?.href)) return null;
  const url = new URL(text, base);
  if (!['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') return null;
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '');
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  return host === '' ? null : { url, host, port };
}

export function decideHost(
  { host, port }: Target,
  policy: Pick<NetworkPolicy, 'allow'>,
): Decision<null, 'E_HOST_DENIED'> {
  const isListed = policy.allow.some((entry) => isListedBy(entry, host, port));
  return isListed ? allow(null) : deny('E_HOST_DENIED', { host, port });
}

function isListedBy(entry: string, host: string, port: number): boolean {
  const [, listed = '', listedPort] = /^(.*?)(?::(\d{1,5}))?$/.exec(entry) ?? [];
  const isBare = listed.includes(':') && !listed.startsWith('[');
  const name = (isBare ? entry : listed).replace(/^\[|\]$/g, '').toLowerCase();
  const isPort = isBare || listedPort === undefined ? PLAIN_PORTS.includes(port) : Number(listedPort) === port;
  if (!isPort) return false;
  return name.startsWith('*.') ? host.endsWith(name.slice(1)) && host.length > name.length - 1 : host === name;
}

/** Of what the name of the target resolves to: one bad address spoils them all, so that chance decides nothing. */
export function decideAddresses(
  addresses: readonly string[],
  port: number,
  { allowPrivate, ownAddresses }: Pick<NetworkPolicy, 'allowPrivate' | 'ownAddresses'>,
): Decision<null, 'E_ADDRESS_DENIED'> {
  const excepted = new Set(allowPrivate.map(canonicalEndpoint));
  const own = new Set(ownAddresses.map(canonicalAddress));
  const mayReach = (address: string): boolean => {
    const canonical = canonicalAddress(address);
    if (canonical === null) return false;
    return excepted.has(`${canonical} ${port}`) || (isPublicAddress(address) && !own.has(canonical));
  };
  return addresses.length > 0 && addresses.every(mayReach) ? allow(null) : deny('E_ADDRESS_DENIED');
}

function canonicalEndpoint(endpoint: string): string {
  const at = endpoint.lastIndexOf(':');
  return `${canonicalAddress(endpoint.slice(0, at).replace(/^\[|\]$/g, ''))} ${Number(endpoint.slice(at + 1))}`;
}
