/** Where the gateway may listen, and which hosts and origins a request may name there. */

export interface DoorAddress {
  readonly host: string;
  readonly loopback: boolean;
}

/** A node without a key serves this machine only. */
export function bindAddress(
  bind: string | undefined,
  keyed: boolean,
): { readonly ok: true; readonly address: DoorAddress } | { readonly ok: false; readonly sentence: string } {
  const host = bind ?? (keyed ? '0.0.0.0' : '127.0.0.1');
  const loopback = isLoopbackName(host.replace(/^\[|\]$/g, '').toLowerCase());
  if (!keyed && !loopback) {
    return {
      ok: false,
      sentence: `SVC_BIND=${host} would open this node to other machines: set SVC_API_KEY as well, or leave SVC_BIND out.`,
    };
  }
  return { ok: true, address: { host, loopback } };
}

function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name) || name.endsWith('.localhost');
}

/** The name inside a Host header, without port and brackets; null when it is none. */
function hostName(header: string): string | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(header);
  return (match?.[1] ?? match?.[2])?.toLowerCase() ?? null;
}

/** `allowed`: SVC_ALLOWED_HOSTS. On a loopback bind loopback names always pass; elsewhere no list admits any name. */
export function isHostAllowed(header: string, loopback: boolean, allowed: readonly string[] | undefined): boolean {
  const name = hostName(header);
  if (name === null) return false;
  if (loopback && isLoopbackName(name)) return true;
  if (allowed === undefined) return !loopback;
  return allowed.some((host) => host.toLowerCase() === name || host.toLowerCase() === header.toLowerCase());
}

/** `listed`: SVC_CORS_ORIGINS. */
export function isOriginAllowed(origin: string, loopback: boolean, listed: readonly string[] | undefined): boolean {
  if (listed?.includes(origin) === true) return true;
  const host = /^https?:\/\/([^/]+)$/i.exec(origin)?.[1];
  const name = host === undefined ? null : hostName(host);
  return loopback && name !== null && isLoopbackName(name);
}
