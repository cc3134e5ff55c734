/** A registry of identities in memory, which serves habitat's operations; `registry.contract.ts` holds it to the real one. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { PostedAuditEntry } from '@svc/contract/audit.ts';
import type { OperationOf } from '@svc/contract/operation.ts';
import { HABITAT, type HabitatAnswer } from '@svc/contract/operations.habitat.ts';
import { DEFAULT_POLICY, homeKey, type Policy } from '@svc/contract/policy.ts';
import { ENDED, type PlanName, type RegistryStamp, type TokenLimits } from '@svc/contract/registry.ts';
import type { Subject } from '@svc/contract/subject.ts';
import type { Subscription } from '@svc/runtime/bus.ts';
import { createLog } from '@svc/runtime/log.ts';
import { type Handlers, serveOperations } from '@svc/runtime/operations.ts';
import type { Platform } from '@svc/runtime/platform.ts';

interface MintOptions extends Partial<Pick<TokenLimits, 'bound' | 'readOnly' | 'profile' | 'expiresAt'>> {
  readonly org?: string;
  readonly plan?: PlanName;
}

interface KeptToken extends MintOptions {
  readonly agentId: string;
}

interface Organisation {
  readonly spend: readonly string[];
  readonly read: readonly string[];
}

type ServingPlatform = Pick<Platform, 'bus' | 'clock'>;
type Json = HabitatAnswer<'settings'>['stored'][string];
type Question = OperationOf<typeof HABITAT>;

/** Who there is, and what they may. Each change raises the revision. */
export class FakeRegistry {
  /** Questions since the start. */
  readonly asked = Object.fromEntries(Object.keys(HABITAT.declared).map((name) => [name, 0])) as Record<
    Question,
    number
  >;
  /** What `attached` was asked about, in order. */
  readonly rootsAsked: string[] = [];
  /** Entries that were handed over to the audit. */
  readonly audited: PostedAuditEntry[] = [];
  /** While true, questions wait. */
  isAway = false;
  readonly #stamp = { rev: 1, policies: 1, settings: 1 };
  readonly #workspaces = new Set(['default']);
  readonly #unconfirmed = new Set<string>();
  readonly #roles = new Map<string, Map<string, readonly string[]>>();
  readonly #organisations = new Map<string, Organisation>();
  readonly #assignments = new Map<string, string>();
  readonly #tokens = new Map<string, KeptToken>();
  readonly #quarantined = new Set<string>();
  readonly #policies = new Map<string, Policy>();
  readonly #settings = new Map<string, Json>();
  readonly #current = new Map<string, string>();
  readonly #basePolicy: Policy;
  #serving: { readonly platform: ServingPlatform; readonly subscription: Subscription } | null = null;

  /** `basePolicy`: what a policy is where a test does not say. */
  constructor(basePolicy: Partial<Policy> = {}) {
    this.#basePolicy = { ...DEFAULT_POLICY, ...basePolicy };
  }

  async serveOn(platform: ServingPlatform): Promise<Subscription> {
    const serving = { operations: HABITAT, handlers: handlersOf(this), deps: null };
    const subscription = await serveOperations({ ...platform, log: createLog('error', {}) }, serving);
    this.#serving = { platform, subscription };
    return subscription;
  }

  /** Stops answering where it began last. */
  async leave(): Promise<void> {
    await this.#serving?.subscription.drain();
  }

  async comeBack(): Promise<void> {
    if (this.#serving !== null) await this.serveOn(this.#serving.platform);
  }

  /** What it stands at, as a gateway would put it into an envelope. */
  stamp(): RegistryStamp {
    return { ...this.#stamp };
  }

  /** Raises the revision without any change that somebody could see. */
  touch(): void {
    this.#raise('policies');
  }

  /** The first workspace of an identity is its home. Without roles it loses the workspace. */
  grant(agentId: string, workspace: string, ...granted: readonly string[]): void {
    this.#raise(...(this.#workspaces.has(workspace) ? [] : (['policies'] as const)));
    this.#workspaces.add(workspace);
    const held = this.#roles.get(agentId) ?? new Map<string, readonly string[]>();
    if (granted.length === 0) held.delete(workspace);
    else held.set(workspace, granted);
    this.#roles.set(agentId, held);
  }

  /** From now on as if somebody had made the workspace for itself. */
  disown(workspace: string): void {
    this.#raise();
    this.#unconfirmed.add(workspace);
  }

  isConfirmed(workspace: string): boolean {
    return this.#workspaces.has(workspace) && !this.#unconfirmed.has(workspace);
  }

  /** An organisation, with those who may spend its money, and those who may read its account. */
  addOrganisation(id: string, organisation: Organisation): void {
    this.#raise();
    this.#organisations.set(id, organisation);
  }

  /** The only organisation that the identity belongs to from now on; without one it leaves. */
  assign(agentId: string, org?: string): void {
    this.#raise();
    if (org === undefined) this.#assignments.delete(agentId);
    else this.#assignments.set(agentId, org);
  }

  /** Returns the raw token. */
  mint(agentId: string, options: MintOptions = {}): string {
    this.#raise();
    const raw = `svc_${createHash('sha256').update(`${agentId} ${this.#stamp.rev}`).digest('hex')}`;
    this.#tokens.set(raw, { agentId, ...options });
    return raw;
  }

  /** `quietly`: the message that closes sockets at once is lost. */
  revoke(raw: string, quietly = false): void {
    this.#raise();
    this.#tokens.delete(raw);
    const message = JSON.stringify({ rev: this.#stamp.rev, tokenIds: [], agentIds: [] });
    if (!quietly) this.#serving?.platform.bus.publish(ENDED, message);
  }

  /** Null takes it off. */
  setPolicy(resource: string, policy: Partial<Policy> | null): void {
    this.#raise('policies');
    if (policy === null) this.#policies.delete(resource);
    else this.#policies.set(resource, { ...this.#basePolicy, ...policy });
  }

  /** From now on, or until now. */
  quarantine(agentId: string, quarantined: boolean): void {
    this.#raise();
    if (quarantined) this.#quarantined.add(agentId);
    else this.#quarantined.delete(agentId);
  }

  /** Null unsets it. */
  setSetting(key: string, value: Json): void {
    this.#raise('settings');
    if (value === null) this.#settings.delete(key);
    else this.#settings.set(key, value);
  }

  /** The workspace that a session has set. */
  setCurrent(session: string, workspace: string): void {
    this.#current.set(session, workspace);
  }

  currentOf(sessions: readonly string[]): Record<string, string> {
    return Object.fromEntries([...this.#current].filter(([session]) => sessions.includes(session)));
  }

  subjectIn(agentId: string, wanted?: string): Subject | null {
    const held = this.#roles.get(agentId);
    const [home] = held?.keys() ?? [];
    if (held === undefined || home === undefined) return null;
    const workspace = wanted !== undefined && held.has(wanted) ? wanted : home;
    return { userId: agentId, agentId, workspace, roles: [...(held.get(workspace) ?? [])], family: agentId };
  }

  rolesOf(agentId: string): Record<string, string[]> {
    return Object.fromEntries(
      [...(this.#roles.get(agentId) ?? [])].map(([workspace, roles]) => [workspace, [...roles]]),
    );
  }

  /** Everybody with a role is an agent here, called by its id. */
  agentsSeenBy(viewer: { readonly agentId: string | null; readonly bound: string | null } | null) {
    const own = viewer === null || viewer.agentId === null ? {} : this.rolesOf(viewer.agentId);
    const mayKnow = (workspace: string): boolean =>
      viewer === null || (workspace in own && (viewer.bound === null || viewer.bound === workspace));
    return [...this.#roles]
      .filter(([, held]) => [...held.keys()].slice(0, 1).some(mayKnow))
      .map(([id]) => ({ id, name: id, role: null, team: null }))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  isQuarantined(agentId: string): boolean {
    return this.#quarantined.has(agentId);
  }

  knowsWorkspace(name: string): boolean {
    return this.#workspaces.has(name);
  }

  settings(): Record<string, Json> {
    return Object.fromEntries(this.#settings);
  }

  policiesAt(isMeant: (resource: string) => boolean): Record<string, Policy> {
    return Object.fromEntries([...this.#policies].filter(([resource]) => isMeant(resource)));
  }

  verified(raw: string): HabitatAnswer<'subject'>['token'] {
    const kept = this.#tokens.get(raw);
    const subject = kept === undefined ? null : this.subjectIn(kept.agentId, kept.bound ?? undefined);
    if (kept === undefined || subject === null) return null;
    const { agentId, bound = null, readOnly = false, profile = null, org = null, plan = null } = kept;
    const { expiresAt = Date.now() + 3_600_000 } = kept;
    return {
      limits: { tokenId: `tok_${raw.slice(-4)}`, bound, readOnly, profile, expiresAt },
      subject,
      quarantined: this.isQuarantined(agentId),
      roles: this.rolesOf(agentId),
      accounts: this.accountsOf(agentId),
      org,
      plan,
    };
  }

  stands(tokenId: string): boolean {
    return [...this.#tokens.keys()].some((raw) => this.verified(raw)?.limits.tokenId === tokenId);
  }

  accountsOf(agentId: string): string[] {
    return [agentId, this.#assignments.get(agentId) ?? []].flat();
  }

  standing(account: string, by = ''): Pick<HabitatAnswer<'account'>, 'kind' | 'maySpend' | 'mayRead'> {
    const org = this.#organisations.get(account);
    const isIdentity = this.subjectIn(account) !== null;
    const kind = org !== undefined ? 'org' : isIdentity ? 'identity' : null;
    const maySpend = (kind === 'identity' && by === account) || org?.spend.includes(by) === true;
    return { kind, maySpend, mayRead: maySpend || org?.read.includes(by) === true };
  }

  #raise(...parts: readonly ('policies' | 'settings')[]): void {
    this.#stamp.rev += 1;
    for (const part of parts) this.#stamp[part] = this.#stamp.rev;
  }
}

type FakeHandlers = Handlers<typeof HABITAT, null>;
type Answering = Pick<
  FakeHandlers,
  | 'revision'
  | 'subject'
  | 'tokenStands'
  | 'context'
  | 'accounts'
  | 'agents'
  | 'roles'
  | 'policies'
  | 'attached'
  | 'claim'
  | 'copyPolicies'
  | 'removeCopies'
  | 'account'
  | 'settings'
  | 'audit'
  | 'succession'
>;

/** An operation that no test needs of the fake is a bug of the test that asks for it. */
function handlersOf(registry: FakeRegistry): FakeHandlers {
  const answering = answeringOf(registry) as Partial<Record<Question, (...asked: unknown[]) => Promise<unknown>>>;
  const counted = (Object.keys(HABITAT.declared) as Question[]).map((name) => [
    name,
    async (...asked: unknown[]) => {
      while (registry.isAway) await sleep(20);
      registry.asked[name] += 1;
      const answer = answering[name];
      if (answer === undefined) throw new Error(`the fake registry does not answer ${name}`);
      return answer(...asked);
    },
  ]);
  return Object.fromEntries(counted) as FakeHandlers;
}

function answeringOf(registry: FakeRegistry): Answering {
  const stamp = () => registry.stamp();
  const attachedTo = (root: string, prefixes: readonly string[]) =>
    registry.policiesAt(
      (key) => key === root || key.startsWith(`${root}/`) || prefixes.some((prefix) => key.startsWith(prefix)),
    );
  const policyOf = (resource: string) => registry.policiesAt((key) => key === resource)[resource] ?? null;
  return {
    revision: async ({ sessions }) => ({ stamp: stamp(), at: Date.now(), current: registry.currentOf(sessions) }),
    subject: async ({ token }) => ({ stamp: stamp(), token: registry.verified(token) }),
    tokenStands: async ({ tokenId }) => ({ stamp: stamp(), stands: registry.stands(tokenId) }),
    context: async ({ agentId, workspace }) => ({
      stamp: stamp(),
      subject: registry.subjectIn(agentId, workspace),
      quarantined: registry.isQuarantined(agentId),
      roles: registry.rolesOf(agentId),
    }),
    accounts: async ({ agentId }) => ({ stamp: stamp(), accounts: registry.accountsOf(agentId) }),
    agents: async ({ viewer, limit }) => ({ agents: registry.agentsSeenBy(viewer).slice(0, limit) }),
    roles: async ({ userId, workspaceId, confirmed }) => ({
      stamp: stamp(),
      known: registry.knowsWorkspace(workspaceId),
      roles: registry.rolesOf(userId)[workspaceId] ?? [],
      ...(confirmed === true ? { confirmed: registry.isConfirmed(workspaceId) } : {}),
    }),
    policies: async ({ resources }) => ({
      stamp: stamp(),
      policies: registry.policiesAt((key) => resources.includes(key)),
    }),
    async attached({ root, prefixes }) {
      registry.rootsAsked.push(root);
      return { stamp: stamp(), policies: attachedTo(root, prefixes) };
    },
    async claim({ resource, workspaceId, declared = false }) {
      const usual = registry.knowsWorkspace(workspaceId) ? { ...DEFAULT_POLICY, container: workspaceId } : null;
      const policy = policyOf(homeKey(workspaceId)) ?? (declared ? null : usual);
      if (policy === null) return { stamp: stamp(), claimed: false, policy: null };
      const before = policyOf(resource);
      if (before === null) registry.setPolicy(resource, policy);
      return { stamp: stamp(), claimed: before === null, policy: before ?? policy };
    },
    async copyPolicies({ from, to }) {
      const copies = Object.entries(attachedTo(from, [])).map(
        ([key, policy]) => [to + key.slice(from.length), policy] as const,
      );
      const isOther = ([key, policy]: (typeof copies)[number]) =>
        policyOf(key) !== null && !isDeepStrictEqual(policyOf(key), policy);
      if (copies.some(isOther)) return { stamp: stamp(), copied: null, resources: [] };
      const missing = copies.filter(([key]) => policyOf(key) === null);
      for (const [key, policy] of missing) registry.setPolicy(key, policy);
      return { stamp: stamp(), copied: missing.length, resources: missing.map(([key]) => key) };
    },
    async removeCopies({ resources }) {
      const present = resources.filter((key) => policyOf(key) !== null);
      for (const key of present) registry.setPolicy(key, null);
      return { stamp: stamp(), removed: present.length };
    },
    account: async ({ account, by }) => ({ stamp: stamp(), ...registry.standing(account, by) }),
    settings: async () => ({ stamp: stamp(), stored: registry.settings(), fixed: {} }),
    async audit({ entries }) {
      registry.audited.push(...entries);
      return {};
    },
    succession: async () => ({}),
  };
}
