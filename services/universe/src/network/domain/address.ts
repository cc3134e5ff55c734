/** Whether an address belongs to the public network. Forms that carry an address of IPv4 are judged by that. */
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** All that is handed out for global unicast. */
const GLOBAL = ipaddr.IPv6.parseCIDR('2000::/3');
/** Special, and unknown as such to the list of the library. */
const MORE_SPECIAL = [
  ipaddr.IPv4.parseCIDR('192.88.99.0/24'),
  ipaddr.IPv6.parseCIDR('3fff::/20'),
  ipaddr.IPv6.parseCIDR('2001::/23'),
  ipaddr.IPv6.parseCIDR('2001:db8::/32'),
];
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
const SIX_TO_FOUR = ipaddr.IPv6.parseCIDR('2002::/16');

/** One text for each address; null = none. Four decimal numbers or colons only: other forms are names of nothing. */
export function canonicalAddress(text: string): string | null {
  const address = parsed(text);
  return address === null ? null : unwrapped(address).toString();
}

export function isPublicAddress(text: string): boolean {
  const address = parsed(text);
  return address !== null && isPublic(unwrapped(address));
}

function parsed(text: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  return !text.includes('%') && ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text) : null;
}

function unwrapped(address: Address): Address {
  if (!(address instanceof ipaddr.IPv6)) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  const bytes = address.toByteArray();
  if (address.match(NAT64)) return new ipaddr.IPv4(bytes.slice(12));
  return address.match(SIX_TO_FOUR) ? new ipaddr.IPv4(bytes.slice(2, 6)) : address;
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  const isSpecial = MORE_SPECIAL.some((range) => range[0].kind() === address.kind() && address.match(range));
  return !isSpecial && (!(address instanceof ipaddr.IPv6) || address.match(GLOBAL));
}
