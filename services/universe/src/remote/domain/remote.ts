/** Another node, or a repository that brains sync with, as an operator names it. */
import { type Decision, allow, deny } from '@svc/contract/decision.ts';
import { type Target, targetOf } from '../../network/domain/target.ts';

type RemoteType = 'node' | 'git';

export interface RemoteWish {
  readonly id: string;
  readonly type: RemoteType;
  readonly name: string;
  /** Of a node the base: `/call` comes behind it. */
  readonly url: string;
  readonly tokenRef: string | null;
  readonly insecure: boolean;
}

export interface Remote extends RemoteWish {
  readonly createdAt: number;
}

/** A call may come through so many nodes. */
export const MAX_NODES = 3;

/** `problem` in words: an address that has to be corrected. */
export function decideBase(text: string, insecure: boolean): Decision<Target, 'VAF_INPUT_INVALID'> {
  const target = targetOf(text);
  if (target === null)
    return deny('VAF_INPUT_INVALID', { problem: 'config.url must be an http or https address without a user' });
  const { url, host } = target;
  if (url.search !== '' || url.hash !== '')
    return deny('VAF_INPUT_INVALID', { problem: 'config.url must not hold a query or a fragment' });
  if (url.protocol === 'http:' && !insecure && !isLoopback(host))
    return deny('VAF_INPUT_INVALID', { problem: 'config.url must be https, unless config.insecure says otherwise' });
  return allow(target);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The same text for the same base. */
export function baseOf({ url }: Target): string {
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

export function isSameRemote(one: RemoteWish, other: RemoteWish): boolean {
  return (
    one.type === other.type &&
    one.url === other.url &&
    one.tokenRef === other.tokenRef &&
    one.insecure === other.insecure
  );
}
