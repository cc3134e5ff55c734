/** People of a test: identities with roles, who call as themselves. */
import type { TokenLimits } from '@svc/contract/registry.ts';
import type { Envelope } from '@svc/contract/rpc.ts';
import type { HabitatNode } from './habitat-test-bed.ts';

type Fields = Record<string, unknown>;

export interface Person {
  readonly id: string;
  /** Throws the code of a call error; another node of the same database may be asked. */
  call(tool: string, args?: Fields, at?: HabitatNode): Promise<Fields>;
  /** The code by which the call is refused, in either form; null = it is not. */
  code(tool: string, args?: Fields, at?: HabitatNode): Promise<string | null>;
}

interface PersonOptions {
  readonly workspace?: string;
  /** null = knows nobody. */
  readonly role?: 'admin' | 'editor' | 'viewer' | null;
  readonly parent?: string;
  /** Acts through a token that is bound to the workspace. */
  readonly bound?: boolean;
}

/** Writes the rows by which the identity exists. */
export async function enrol(node: HabitatNode, id: string, options: PersonOptions = {}): Promise<Person> {
  const { workspace = 'default', role = 'editor', parent = null, bound = false } = options;
  const { client } = node.deps.store;
  await client.$executeRawUnsafe(
    `INSERT INTO habitat.workspaces (workspace_id, folded, name, created_at, created_by)
     VALUES ($1, lower($1), $1, now(), 'test') ON CONFLICT DO NOTHING`,
    workspace,
  );
  await client.$executeRawUnsafe(
    `INSERT INTO habitat.agents (agent_id, name, parent, workspace, created_by, created_at)
     VALUES ($1, $1, $2, $3, 'test', now()) ON CONFLICT DO NOTHING`,
    id,
    parent,
    workspace,
  );
  if (role !== null) {
    await client.$executeRawUnsafe(
      `INSERT INTO habitat.roles (workspace_id, user_id, role, granted_by, granted_at, source)
       VALUES ($1, $2, $3, 'test', now(), 'operator') ON CONFLICT DO NOTHING`,
      workspace,
      id,
      role,
    );
  }
  const token: TokenLimits = {
    tokenId: `tok_${id}`,
    bound: bound ? workspace : null,
    readOnly: false,
    profile: null,
    expiresAt: Number.MAX_SAFE_INTEGER,
  };
  const over: Partial<Envelope> = {
    subject: { userId: id, agentId: id, workspace, roles: role === null ? [] : [role], verified: true },
    token,
    operator: false,
    principal: `tok:${id}`,
  };
  const call: Person['call'] = (tool, args = {}, at = node) => at.call(tool, args, over);
  return { id, call, code: (tool, args, at) => codeOf(call(tool, args, at)) };
}

/** Somebody who says who they are, without roles. */
export function identified(id: string): Pick<Envelope, 'subject' | 'operator'> {
  return { subject: { userId: id, agentId: id, workspace: 'default' }, operator: false };
}

/** Calls by a token that the operator mints for the agent. */
export async function withTokenOf(node: HabitatNode, agentId: string): Promise<ReturnType<HabitatNode['as']>> {
  return node.as(String((await node.call('svc_habitat_mintToken', { agentId })).token));
}

/** The code of a refusal or of a call error; null = success. */
export async function codeOf(reply: Promise<Fields>): Promise<string | null> {
  try {
    const { code } = await reply;
    return typeof code === 'string' ? code : null;
  } catch (error) {
    return error instanceof Error ? error.message : 'unknown';
  }
}
