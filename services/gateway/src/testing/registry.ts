/** A registry of identities in memory, which answers the questions of the contract on the bus. */
import { createHash } from 'node:crypto';
import { DEFAULT_POLICY, type Policy } from '@svc/contract/policy.ts';
import {
  ENDED,
  type PlanName,
  REGISTRY,
  type RegistryAnswer,
  type RegistryAsk,
  type RegistryQuestion,
  type TokenLimits,
} from '@svc/contract/registry.ts';
import type { Subject } from '@svc/contract/subject.ts';
import type { Bus, Subscription } from '@svc/runtime/bus.ts';

interface MintOptions extends Partial<Pick<TokenLimits, 'bound' | 'readOnly' | 'profile' | 'expiresAt'>> {
  readonly org?: string;
  readonly plan?: PlanName;
}

interface KeptToken extends MintOptions {
  readonly agentId: string;
}

type Json = RegistryAnswer<'settings'>['stored'][string];

/** What a gateway asks while it serves. */
type Question = Extract<RegistryQuestion, 'revision' | 'subject' | 'context' | 'roles' | 'policies' | 'settings'>;

export interface TestRegistry {
  /** Questions since the start. */
  readonly asked: Record<Question, number>;
  /** The first workspace of an identity is its home. Without roles it loses the workspace. */
  grant(agentId: string, workspace: string, ...roles: string[]): void;
  /** Returns the raw token. */
  mint(agentId: string, options?: MintOptions): string;
  /** `quietly`: the message that closes sockets at once is lost. */
  revoke(raw: string, quietly?: boolean): void;
  /** The only organisation that the identity belongs to from now on; without one it leaves. */
  assign(agentId: string, org?: string): void;
  setPolicy(resource: string, policy: Partial<Policy>): void;
  /** From now on, or until now. */
  quarantine(agentId: string, quarantined: boolean): void;
  /** Null unsets it. */
  setSetting(key: string, value: Json): void;
  /** The workspace that a session has set. */
  setCurrent(session: string, workspace: string): void;
  /** Stops answering. */
  leave(): Promise<void>;
  comeBack(): Promise<void>;
}

/** What it keeps. */
class Rows {
  readonly stamp = { rev: 1, policies: 1, settings: 1 };
  readonly workspaces = new Set(['default']);
  readonly roles = new Map<string, Map<string, string[]>>();
  readonly assignments = new Map<string, string>();
  readonly tokens = new Map<string, KeptToken>();
  readonly quarantined = new Set<string>();
  readonly policies = new Map<string, Policy>();
  readonly settings = new Map<string, Json>();
  readonly current = new Map<string, string>();

  heldBy(agentId: string): Record<string, string[]> {
    return Object.fromEntries(this.roles.get(agentId) ?? []);
  }

  subjectIn(agentId: string, wanted?: string): Subject | null {
    const held = this.roles.get(agentId);
    const [home] = held?.keys() ?? [];
    if (held === undefined || home === undefined) return null;
    const workspace = wanted !== undefined && held.has(wanted) ? wanted : home;
    return { userId: agentId, agentId, workspace, roles: held.get(workspace) ?? [] };
  }

  verified(raw: string): RegistryAnswer<'subject'>['token'] {
    const kept = this.tokens.get(raw);
    const subject = kept === undefined ? null : this.subjectIn(kept.agentId, kept.bound ?? undefined);
    if (kept === undefined || subject === null) return null;
    const { bound = null, readOnly = false, profile = null, expiresAt = Date.now() + 3_600_000, org, plan } = kept;
    const limits = { tokenId: `tok_${raw.slice(-4)}`, bound, readOnly, profile, expiresAt };
    const accounts = [kept.agentId, this.assignments.get(kept.agentId) ?? []].flat();
    const quarantined = this.quarantined.has(kept.agentId);
    const roles = this.heldBy(kept.agentId);
    return { limits, subject, quarantined, roles, accounts, org: org ?? null, plan: plan ?? null };
  }

  grant(agentId: string, workspace: string, granted: string[]): void {
    this.stamp.rev += 1;
    if (!this.workspaces.has(workspace)) this.stamp.policies += 1;
    this.workspaces.add(workspace);
    const held = this.roles.get(agentId) ?? new Map<string, string[]>();
    if (granted.length === 0) held.delete(workspace);
    else held.set(workspace, granted);
    this.roles.set(agentId, held);
  }

  assign(agentId: string, org?: string): void {
    this.stamp.rev += 1;
    if (org === undefined) this.assignments.delete(agentId);
    else this.assignments.set(agentId, org);
  }

  mint(agentId: string, options: MintOptions): string {
    this.stamp.rev += 1;
    const raw = `svc_${createHash('sha256').update(`${agentId} ${this.stamp.rev}`).digest('hex')}`;
    this.tokens.set(raw, { agentId, ...options });
    return raw;
  }
}

type Answers = { readonly [Asked in Question]: (ask: RegistryAsk<Asked>) => Omit<RegistryAnswer<Asked>, 'stamp'> };

function answersFrom(rows: Rows): Answers {
  return {
    revision: ({ sessions }) => ({
      at: Date.now(),
      current: Object.fromEntries([...rows.current].filter(([session]) => sessions.includes(session))),
    }),
    subject: ({ token }) => ({ token: rows.verified(token) }),
    context: ({ agentId, workspace }) => ({
      subject: rows.subjectIn(agentId, workspace),
      quarantined: rows.quarantined.has(agentId),
      roles: rows.heldBy(agentId),
    }),
    roles: ({ userId, workspaceId }) => ({
      known: rows.workspaces.has(workspaceId),
      roles: rows.roles.get(userId)?.get(workspaceId) ?? [],
    }),
    settings: () => ({ stored: Object.fromEntries(rows.settings), fixed: {} }),
    policies: ({ resources }) => ({
      policies: Object.fromEntries([...rows.policies].filter(([resource]) => resources.includes(resource))),
    }),
  };
}

function listen(bus: Bus, { stamp }: Rows, answers: Answers, asked: Record<Question, number>): Promise<Subscription[]> {
  return Promise.all(
    (Object.keys(answers) as Question[]).map((question) => {
      const answer = answers[question] as (ask: unknown) => object;
      const respond = async (text: string): Promise<string> => {
        asked[question] += 1;
        return JSON.stringify({ ok: true, answer: { stamp, ...answer(JSON.parse(text)) } });
      };
      return bus.respond(REGISTRY[question].subject, respond, { queue: 'habitat' });
    }),
  );
}

export async function startTestRegistry(bus: Bus): Promise<TestRegistry> {
  const rows = new Rows();
  const { stamp } = rows;
  const answers = answersFrom(rows);
  const asked: Record<Question, number> = { revision: 0, subject: 0, context: 0, roles: 0, policies: 0, settings: 0 };
  let subscriptions = await listen(bus, rows, answers, asked);
  return {
    asked,
    grant: (agentId, workspace, ...granted) => rows.grant(agentId, workspace, granted),
    assign: (agentId, org) => rows.assign(agentId, org),
    mint: (agentId, options = {}) => rows.mint(agentId, options),
    revoke(raw, quietly = false) {
      stamp.rev += 1;
      rows.tokens.delete(raw);
      if (!quietly) bus.publish(ENDED, JSON.stringify({ rev: stamp.rev, tokenIds: [], agentIds: [] }));
    },
    setPolicy(resource, policy) {
      stamp.rev += 1;
      stamp.policies = stamp.rev;
      rows.policies.set(resource, { ...DEFAULT_POLICY, ...policy });
    },
    quarantine(agentId, quarantined) {
      stamp.rev += 1;
      if (quarantined) rows.quarantined.add(agentId);
      else rows.quarantined.delete(agentId);
    },
    setSetting(key, value) {
      stamp.rev += 1;
      stamp.settings = stamp.rev;
      if (value === null) rows.settings.delete(key);
      else rows.settings.set(key, value);
    },
    setCurrent: (session, workspace) => void rows.current.set(session, workspace),
    async leave() {
      await Promise.all(subscriptions.map((subscription) => subscription.drain()));
    },
    async comeBack() {
      subscriptions = await listen(bus, rows, answers, asked);
    },
  };
}
