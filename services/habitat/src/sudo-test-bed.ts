/** Tasks of a test, with people around them. */
import type { HabitatNode } from './habitat-test-bed.ts';
import { enrol, type Person } from './test-people.ts';

export interface Cast {
  readonly owner: Person;
  readonly admin: Person;
  readonly other: Person;
  readonly stranger: Person;
  readonly taskId: string;
}

type Fields = Record<string, unknown>;

export interface SudoBed {
  /** A workspace with an editor who owns a task, an admin, another member, and somebody from elsewhere. */
  cast(scopes?: string[]): Promise<Cast>;
  can(who: Person, taskId: string, scope: string): Promise<Fields>;
  sql(text: string, ...values: unknown[]): Promise<number>;
  rows<Row>(text: string, ...values: unknown[]): Promise<Row[]>;
  /** Makes the time of rows be over. */
  expire(table: string, column: string, value: string): Promise<number>;
  events(principal: string): Promise<{ name: string; workspace: string | null; payload: { parties?: string[] } }[]>;
  /** Names of audit entries, also of those that have been handed over. */
  audited(key: 'principal' | 'entityId', value: string): Promise<string[]>;
}

let named = 0;

export function freshId(prefix = 's'): string {
  named += 1;
  return `${prefix}${named}`;
}

export function sudoBed(node: HabitatNode): SudoBed {
  const { client } = node.deps.store;
  const rows: SudoBed['rows'] = (text, ...values) => client.$queryRawUnsafe(text, ...values);
  const sql: SudoBed['sql'] = (text, ...values) => client.$executeRawUnsafe(text, ...values);
  return {
    rows,
    sql,
    async cast(scopes = []) {
      const workspace = freshId('ws-');
      const owner = await enrol(node, freshId(), { workspace });
      const admin = await enrol(node, freshId(), { workspace, role: 'admin' });
      const other = await enrol(node, freshId(), { workspace });
      const stranger = await enrol(node, freshId(), { workspace: `${workspace}-far`, role: 'admin' });
      const taskId = String((await owner.call('svc_sudo_createTask', { scopes })).taskId);
      return { owner, admin, other, stranger, taskId };
    },
    can: (who, taskId, scope) => who.call('svc_sudo_can', { taskId, scope }),
    expire: (table, column, value) =>
      sql(`UPDATE habitat.${table} SET expires_at = clock_timestamp() WHERE ${column} = $1`, value),
    events: (principal) =>
      rows(
        `SELECT name, workspace, payload FROM habitat.outbox WHERE payload->>'principal' = $1 ORDER BY written`,
        principal,
      ),
    async audited(key, value) {
      const found = await rows<{ event: string }>(
        `SELECT id, event FROM habitat.audit_outbox WHERE data->>'${key}' = $1
         UNION SELECT id, event FROM habitat.audit_entries WHERE data->>'${key}' = $1 ORDER BY id`,
        value,
      );
      return found.map(({ event }) => event);
    },
  };
}
