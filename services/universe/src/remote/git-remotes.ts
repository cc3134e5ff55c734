/**
 * Git remotes: the service of brains judges them and syncs with them, here they have their row among what operators added.
 * It comes first at both ends, so what is cut off in between is made whole by whoever repeats the call.
 */
import { CallError } from '@svc/contract/codes.ts';
import { deny } from '@svc/contract/decision.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { GitRemotes } from '../doors-ports.ts';
import type { Remote } from './domain/remote.ts';
import type { Remotes } from './remotes.ts';

export interface GitWish {
  readonly name: string;
  readonly url: string;
  /** The only brain that syncs with it; null = all. */
  readonly brain: string | null;
}

type Parts = Pick<Remotes, 'git' | 'store' | 'newId'>;

/** Throws VAF_INPUT_INVALID for what brains cannot sync with. */
export async function addGit(
  { git, store, newId }: Parts,
  call: ChangeCall,
  wish: GitWish,
  by: string,
): Promise<Once<Remote, 'E_REMOTE_TAKEN'>> {
  const present = await store.find(wish.name);
  if (present?.type === 'node') return { decision: deny('E_REMOTE_TAKEN', { name: wish.name }), replayed: false };
  const kept = await git.keepRemote({ id: present?.id ?? newId(), ...wish });
  if (!kept.ok) return { decision: kept, replayed: false };
  const { id, name, url } = kept.value;
  const added = await store.add(call, { id, type: 'git', name, url, tokenRef: null, insecure: false }, by);
  // A node has the name since, or its former brain is gone and it is to lie elsewhere now.
  if (!added.decision.ok) await git.forgetRemote({ named: id });
  return added;
}

/** What brains no longer sync with; null = there was nothing, or a node has that name. */
export async function forgetIn({ git, store }: Parts, named: string): Promise<Pick<Remote, 'id' | 'name'> | null> {
  const present = await store.find(named);
  if (present?.type === 'node') return null;
  return (await git.forgetRemote({ named: present?.id ?? named })).forgotten;
}

/** For which brain each is; undefined = for none any more. While the service of brains is away nothing is known of that. */
export async function brainsOf(
  git: GitRemotes,
  remotes: readonly Remote[],
): Promise<(remote: Remote) => string | null | undefined> {
  if (remotes.every(({ type }) => type === 'node')) return () => null;
  try {
    const known = new Map((await git.remotes({})).remotes.map(({ id, brain }) => [id, brain]));
    return ({ id, type }) => (type === 'node' ? null : known.get(id));
  } catch (error) {
    if (error instanceof CallError) return () => null;
    throw error;
  }
}
