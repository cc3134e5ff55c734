import { isIPv6 } from 'node:net';

/** Of what listens at an address, as others write it. */
export function httpUrl(address: string, port: number): string {
  return `http://${isIPv6(address) ? `[${address}]` : address}:${port}`;
}
