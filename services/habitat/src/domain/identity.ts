/** An identity as the rows tell it, and the subject it is in one workspace. */
import type { RoleSource } from './family.ts';
import type { Subject } from '@svc/contract/subject.ts';

export interface HeldRole {
  readonly workspace: string;
  readonly role: string;
  readonly source: RoleSource;
}

export interface AgentFacts {
  readonly name: string;
  /** As row rules see them. */
  readonly team: string | null;
  readonly brain: string | null;
  /** Its home. */
  readonly workspace: string;
  readonly killed: boolean;
  /** Root of its family. */
  readonly family: string;
  readonly createdBy: string;
}

/** `roles` in the order in which they were granted. */
export interface IdentityRows {
  readonly id: string;
  readonly agent: AgentFacts | null;
  /** It, or an agent it descends from, is in quarantine. */
  readonly quarantined: boolean;
  readonly roles: readonly HeldRole[];
  readonly assignment: {
    readonly org: string;
    readonly team: string | null;
    readonly plan: string;
    readonly confirmed: boolean;
  } | null;
}

/** Anybody gives roles where they are admin themselves, so what was given from outside is nobody's home while there is another. */
const NEAREST_FIRST: readonly RoleSource[] = ['operator', 'family', 'outside'];

/** The workspace in which an identity acts when it asks for no other; null = it has no role anywhere. */
export function homeOf(rows: IdentityRows): string | null {
  const given = NEAREST_FIRST.map((source) => oldestFrom(rows, source));
  return birthplaceOf(rows) ?? given.find((workspace) => workspace !== null) ?? null;
}

/**
 * The workspace whose admins have a say over an identity; null = none but operators. Who spawned an agent chose its home,
 * and of others an operator did: what an identity joined by somebody else's giving, or made itself, decides nothing.
 */
export function guardOf(rows: IdentityRows): string | null {
  return birthplaceOf(rows) ?? oldestFrom(rows, 'operator');
}

/** Where an agent was spawned, while it holds a role there. */
function birthplaceOf({ agent, roles }: IdentityRows): string | null {
  const home = agent?.workspace;
  return home !== undefined && roles.some(({ workspace }) => workspace === home) ? home : null;
}

function oldestFrom({ roles }: IdentityRows, source: RoleSource): string | null {
  return roles.find((role) => role.source === source)?.workspace ?? null;
}

/** Roles of each workspace, sorted. */
export function rolesByWorkspace({ roles }: IdentityRows): Record<string, string[]> {
  const held = Map.groupBy(roles, ({ workspace }) => workspace);
  return Object.fromEntries([...held].map(([workspace, rows]) => [workspace, rows.map(({ role }) => role).sort()]));
}

/** The subject in `wanted`, if a role is held there, else at home. Null = killed, or without any role. */
export function contextOf(rows: IdentityRows, wanted?: string): Subject | null {
  if (rows.agent?.killed === true) return null;
  const home = homeOf(rows);
  if (home === null) return null;
  const held = rolesByWorkspace(rows);
  const workspace = wanted !== undefined && Object.hasOwn(held, wanted) ? wanted : home;
  return {
    userId: rows.id,
    agentId: rows.id,
    ...field('name', rows.agent?.name),
    workspace,
    roles: held[workspace] ?? [],
    ...field('team', rows.agent?.team ?? rows.assignment?.team),
    ...field('brain', rows.agent?.brain),
    family: familyOf(rows),
  };
}

function familyOf({ id, agent }: IdentityRows): string {
  return agent?.family ?? id;
}

function field(name: 'name' | 'team' | 'brain', value: string | null | undefined): Partial<Subject> {
  return value === null || value === undefined ? {} : { [name]: value };
}
