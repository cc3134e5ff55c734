/** The chains of the audit: each entry's hash covers the one before it, and a signature vouches for where a chain ends. */
import { createHmac, hash } from 'node:crypto';
import { auditableData, auditableText, type AuditSubject, type PostedAuditEntry } from '@svc/contract/audit.ts';
import { sortedJson } from '@svc/contract/canonical.ts';

export const FIRST_PREV_HASH = '0'.repeat(64);
/** Chain of what happened in no workspace. */
export const NODE_CHAIN = '';

/** `system`: a service recorded what it did. `user`: somebody logged what they wanted to. */
export type AuditKind = 'system' | 'user';

/** What an entry's hash covers besides the hash before it. `at` in ms since the epoch. */
interface AuditContent {
  readonly id: string;
  readonly seq: number;
  readonly at: number;
  readonly event: string;
  readonly kind: AuditKind;
  readonly subject: AuditSubject;
  readonly workspace: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface ChainedEntry extends AuditContent {
  readonly prevHash: string;
  readonly hash: string;
}

/** Where a chain ends; `seq` 0 and the first previous hash before its first entry. */
export interface ChainEnd {
  readonly chain: string;
  readonly seq: number;
  readonly hash: string;
}

export type NewAuditEntry = PostedAuditEntry & { readonly kind: AuditKind };

export function chainOf(workspace: string | null): string {
  return workspace ?? NODE_CHAIN;
}

export function workspaceOfChain(chain: string): string | null {
  return chain === NODE_CHAIN ? null : chain;
}

/** The entry as it follows the end of its chain: without secrets, fitted, hashed. */
export function nextEntry(end: ChainEnd, entry: NewAuditEntry): ChainedEntry {
  const { id, at, event, kind, subject, workspace, data } = entry;
  const content: AuditContent = {
    id,
    seq: end.seq + 1,
    at: Math.round(at),
    event: auditableText(event),
    kind,
    subject,
    workspace,
    data: auditableData(data),
  };
  return { ...content, prevHash: end.hash, hash: hashOf(end.hash, content) };
}

export function endAfter(chain: string, { seq, hash: ownHash }: Pick<ChainedEntry, 'seq' | 'hash'>): ChainEnd {
  return { chain, seq, hash: ownHash };
}

export function hashOf(prevHash: string, content: AuditContent): string {
  const { id, seq, at, event, kind, subject, workspace, data } = content;
  const rest = { id, seq, at, event, kind, subject, workspace, data };
  return hash('sha256', prevHash + sortedJson(rest), 'hex');
}

/** The identity that an entry is about. */
export function actorOfEntry({ agentId, userId }: AuditSubject): string | null {
  return agentId ?? userId ?? null;
}

/**
 * What is signed of a cut, up to which a chain was removed. No chain can have that name, so the signature of an end of
 * the chain, which many have seen, allows nobody to cut there.
 */
export function signedCut({ chain, seq, hash: cutHash }: ChainEnd): ChainEnd {
  return { chain: `\0cut\0${chain}`, seq, hash: cutHash };
}

/** Signature under the end of a chain. */
export function macOf(key: Buffer, { chain, seq, hash: endHash }: ChainEnd): string {
  return createHmac('sha256', key)
    .update(sortedJson({ chain, seq, hash: endHash }))
    .digest('hex');
}
