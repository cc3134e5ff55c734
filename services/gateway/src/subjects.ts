/** As whom a call is judged: a token, else what an operator declares, else the agent an operator works for, else anonymous. */
import { CallError } from '@svc/contract/codes.ts';
import { type Subject, UserCtx } from '@svc/contract/subject.ts';
import type { Revision } from '@svc/runtime/registry.ts';
import { anonymousIn, declaredIn, tokenSubject } from './domain/access.ts';
import type { Identity } from './identity.ts';
import type { Ports } from './ports.ts';

interface Appearance {
  readonly identity: Identity;
  /** Null = the registry does not answer. */
  readonly revision: Revision | null;
  readonly args: Record<string, unknown>;
  /** The agent that is named beside the call; only an operator's counts. */
  readonly agentId: string | undefined;
}

export interface Judged {
  readonly subject: Subject;
  /** Only reads are its to make. */
  readonly quarantined: boolean;
}

/** At once, unless somebody is named whom only the registry could confirm. Throws SERVICE_UNAVAILABLE. */
export function subjectOf(ports: Ports, appearance: Appearance): Judged | Promise<Judged> {
  const { identity, revision, args, agentId } = appearance;
  const current = revision?.current ?? null;
  const declared = declaredIn(args);
  if (identity.token !== null) {
    return { subject: tokenSubject(identity.token, declared, current), quarantined: identity.token.quarantined };
  }
  if (!identity.operator) return free(anonymousIn(current));
  const userCtx = declared === undefined ? null : UserCtx.safeParse(declared);
  if (userCtx?.success === true) return declaredSubject(ports, userCtx.data, revision);
  if (agentId === undefined) return free(anonymousIn(current));
  return workingFor(ports, agentId, revision);
}

function free(subject: Subject): Judged {
  return { subject, quarantined: false };
}

async function declaredSubject(ports: Ports, subject: Subject, revision: Revision | null): Promise<Judged> {
  if (subject.workspace === undefined) return free(subject);
  const isWorkspace = await ports.isWorkspace(subject.workspace, known(revision).stamp);
  return free(isWorkspace ? subject : { ...subject, unknownWorkspace: true });
}

async function workingFor(ports: Ports, agentId: string, revision: Revision | null): Promise<Judged> {
  const { stamp, current } = known(revision);
  const context = await ports.agentContext(agentId, current, stamp);
  return { subject: agentSubject(context) ?? anonymousIn(current), quarantined: context.quarantined };
}

/** Rebuilt by the registry, but vouched for by an operator and not by a token. */
export function agentSubject({ subject }: { readonly subject: Subject | null }): Subject | null {
  if (subject === null) return null;
  const { verified: _verified, ...rest } = subject;
  return rest;
}

function known(revision: Revision | null): Revision {
  if (revision === null) throw new CallError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: 1000 });
  return revision;
}
