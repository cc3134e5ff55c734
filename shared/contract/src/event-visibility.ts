/** Who may hear an event: one rule for live delivery, for replay and for the log. */
import { type Audience, type EventName, EVENTS, type EventRecord } from './events.ts';
import { evaluate, isHomeResource, type Policy } from './policy.ts';
import { rolesIn, type VerifiedToken } from './registry.ts';
import { DEFAULT_WORKSPACE, identityOf, type Subject } from './subject.ts';

export interface Listener {
  readonly operator: boolean;
  /** Null = an operator without identity. */
  readonly identity: string | null;
  /** By what events address it: its own id and those of the organisations whose accounts it may read. None = an operator,
   * who hears them all. */
  readonly accounts: readonly string[];
  /** Roles in each workspace, as the registry of identities knows them. */
  readonly roles: Readonly<Record<string, readonly string[]>>;
  /** As whom it reads: at home first, then in each other workspace in which it may act. Never merged. */
  readonly subjects: readonly Subject[];
}

type Held = Pick<VerifiedToken, 'roles' | 'accounts'>;

/** Whether a name is what somebody asked for: itself, or with a `*` at its end whatever begins so. */
export function isNamedBy(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

/** The area of an event's name. */
export function areaOf(name: string): string {
  return name.slice(0, name.indexOf(':'));
}

/** `home`: the subject where it acts by default; anonymous has no other place. */
export function listenerOf(home: Subject, { roles, accounts }: Held, operator: boolean): Listener {
  const elsewhere = Object.keys(roles)
    .filter((workspace) => workspace !== home.workspace)
    .sort()
    .map((workspace) => ({ ...home, workspace, roles: [...rolesIn(roles, workspace)] }));
  return { operator, identity: identityOf(home), accounts, roles, subjects: [home, ...elsewhere] };
}

/** The listener of a token; a bound one acts in one workspace alone. */
export function listenerOfToken({
  subject,
  roles,
  accounts,
  limits,
}: Pick<VerifiedToken, 'subject' | 'roles' | 'accounts' | 'limits'>): Listener {
  const { bound } = limits;
  const held = bound === null ? roles : Object.hasOwn(roles, bound) ? { [bound]: [...rolesIn(roles, bound)] } : {};
  return listenerOf(subject, { roles: held, accounts }, false);
}

/** An operator without identity reads as anonymous. */
export const OPERATOR_LISTENER: Listener = listenerOf(
  { workspace: DEFAULT_WORKSPACE },
  { roles: {}, accounts: [] },
  true,
);
export const ANONYMOUS_LISTENER: Listener = { ...OPERATOR_LISTENER, operator: false };

export function holdsRoleIn({ roles }: Pick<Listener, 'roles'>, workspace: string): boolean {
  return Object.hasOwn(roles, workspace);
}

/** The payload that `listener` may see, or null. `policies`: those attached to the event's resources. */
export function visiblePayload(
  event: EventRecord,
  listener: Listener,
  policies: readonly Policy[],
): Record<string, unknown> | null {
  if (!isWorkspaceOpen(event.workspace, listener) || !audienceFits(event, listener)) return null;
  const payload = withoutParties(event.payload);
  if (policies.length === 0) return payload;
  for (const subject of listener.subjects) {
    const shown = throughAll(policies, subject, payload);
    if (shown !== null) return shown;
  }
  return null;
}

function throughAll(
  policies: readonly Policy[],
  subject: Subject,
  payload: Record<string, unknown>,
): Record<string, unknown> | null {
  let shown = payload;
  for (const policy of policies) {
    const seen = evaluate(policy, subject, 'read', shown);
    if (!seen.allowed) return null;
    shown = seen.data as Record<string, unknown>;
  }
  return shown;
}

/** Without the listeners that the event is meant for, and without the entries that say where a thing is at home. */
function withoutParties({ parties: _parties, ...payload }: Record<string, unknown>): Record<string, unknown> {
  const { resources } = payload;
  if (!Array.isArray(resources) || !resources.some(isHomeResource)) return payload;
  return { ...payload, resources: resources.filter((resource) => !isHomeResource(String(resource))) };
}

function isWorkspaceOpen(workspace: string | undefined, listener: Listener): boolean {
  return workspace === undefined || listener.operator || holdsRoleIn(listener, workspace);
}

/** The policies decide for `readers`. */
function audienceFits({ name, workspace, payload }: EventRecord, listener: Listener): boolean {
  if (listener.operator) return true;
  switch (audienceOf(name)) {
    case 'public':
    case 'readers':
      return true;
    case 'members':
      return workspace !== undefined || listener.identity !== null;
    case 'admins':
      return workspace !== undefined && rolesIn(listener.roles, workspace).includes('admin');
    case 'parties':
      return 'parties' in payload && payload.parties.some((party) => isParty(party, listener));
    default:
      return false;
  }
}

/** All of a workspace: no identity and no organisation begins with its prefix. */
const WORKSPACE_PARTY = 'ws:';
/** Also who is nobody. */
const EVERYBODY = '*';

function isParty(party: string, listener: Listener): boolean {
  if (party === EVERYBODY) return true;
  if (party.startsWith(WORKSPACE_PARTY)) return holdsRoleIn(listener, party.slice(WORKSPACE_PARTY.length));
  return listener.accounts.includes(party);
}

/** An event that only a newer service knows is nobody's but the operator's. */
export function audienceOf(name: EventName): Audience {
  return Object.hasOwn(EVENTS, name) ? EVENTS[name].audience : 'operator';
}
