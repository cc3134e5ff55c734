/** Where something is said: the name of a channel tells who may read and write there. */
import { WorkspaceName } from '@svc/contract/names.ts';
import type { Viewer } from '../../acting.ts';

export const CHANNEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._@:/-]{0,159}$/;

/**
 * `agent`: read by that agent; `agents`: what is said to all agents of a workspace, by the registry alone; `ws`: of those
 * with a role in the workspace; `open`: everybody's. `closed`: a name that looks like one of these and is none.
 */
type ChannelKind = 'agent' | 'agents' | 'ws' | 'open' | 'closed';

export interface Channel {
  readonly channel: string;
  readonly kind: ChannelKind;
  /** The agent or the workspace; null = nobody's. */
  readonly owner: string | null;
}

const OWNED = /^(?:(?<kind>agent|agents):(?<owner>.*)|ws:(?<workspace>[^:]*)(?::(?<name>.*))?)$/s;

export function channelOf(channel: string): Channel {
  const found = OWNED.exec(channel)?.groups;
  if (found === undefined) return { channel, kind: 'open', owner: null };
  const { kind = 'ws', owner = found['workspace'] ?? '', name = '' } = found;
  const isOwner = kind === 'agent' ? owner !== '' : WorkspaceName.safeParse(owner).success;
  if (!isOwner || (kind === 'ws' && name === '')) return { channel, kind: 'closed', owner: null };
  return { channel, kind: kind as ChannelKind, owner };
}

export function mayRead({ kind, owner }: Channel, { everything, agentId, workspaces }: Viewer): boolean {
  if (kind === 'open' || everything) return kind !== 'closed';
  if (owner === null) return false;
  return kind === 'agent' ? owner === agentId : workspaces.includes(owner);
}

/** `writer`: who acts, so somebody. */
export function mayWrite(channel: Channel, writer: Viewer): boolean {
  if (channel.kind === 'agent') return true;
  return channel.kind !== 'agents' && mayRead(channel, writer);
}

/** Who hears of what is said there, as events name them. */
export function hearersOf({ kind, owner }: Channel): { readonly parties: string[]; readonly workspace?: string } {
  if (kind === 'open') return { parties: ['*'] };
  if (owner === null) return { parties: [] };
  return kind === 'agent' ? { parties: [owner] } : { parties: [`ws:${owner}`], workspace: owner };
}

export const MAX_CONTENT = 16_384;
export const KEPT_DAYS = 90;
export const KEPT_MESSAGES = 10_000;
/** Channels that one family begins. */
export const MAX_CHANNELS = 10_000;
/** Subscriptions of one family, and of one channel. */
export const MAX_SUBSCRIPTIONS = 1000;
/** Subscriptions of one family to one channel: each message there is told once for each of them. */
export const MAX_SUBSCRIPTIONS_THERE = 20;
/** Messages of one family that an agent's channel keeps: more would push out what others have said there. */
export const MAX_IN_INBOX = 1000;

/** The limit that a family is beyond; null = none. */
export function subscriptionLimit({ ofFamily, ofChannel, ofFamilyThere }: Subscriptions): number | null {
  if (ofFamilyThere > MAX_SUBSCRIPTIONS_THERE) return MAX_SUBSCRIPTIONS_THERE;
  return Math.max(ofFamily, ofChannel) > MAX_SUBSCRIPTIONS ? MAX_SUBSCRIPTIONS : null;
}

export interface Subscriptions {
  readonly ofFamily: number;
  readonly ofChannel: number;
  readonly ofFamilyThere: number;
}
