/** Two tenants that know nothing of each other, each with an admin, a viewer and things of its own. */
import { Caller } from '../client.ts';
import type { TargetPlace } from '../targets/target.ts';
import { newName } from '../verifies.ts';

export interface Member {
  readonly id: string;
  readonly token: string;
}

export interface WorkPlace {
  readonly id: string;
  readonly stream: string;
  readonly workspace: string;
}

export interface Tenant {
  /** Also the name of its folder, its island, its organisation, its topic and its crew. */
  readonly team: string;
  readonly workspace: string;
  readonly admin: Member;
  readonly viewer: Member;
  readonly agent: string;
  readonly org: string;
  readonly dept: string;
  /** Sudo task of the admin. */
  readonly task: string;
  /** What its admin offers to its members alone, with supply for everybody. */
  readonly listing: string;
  /** A trade of its viewer. */
  readonly trade: string;
  /** A skill that its admin offers to its members, and a trade of it that its viewer began. */
  readonly skill: string;
  readonly skillTrade: string;
  /** An agent of the tenant that nothing else uses. */
  spareAgent(): Promise<string>;
  /** Work that its admin has put into a queue of the workspace that nothing else uses. */
  spareWork(): Promise<WorkPlace>;
  /** The same, held by the admin. */
  takenWork(): Promise<WorkPlace>;
  /** An event of its lineage. */
  readonly event: string;
  /** The address of a document that only its members read. */
  readonly address: string;
  /** A file that its admin has just put into that temporary space; a handed over one is for its viewer. */
  laidDown(space: TemporarySpace): Promise<string>;
  /** The id of a live token, bound to the workspace, that nothing else uses. */
  spareToken(): Promise<string>;
}

export type TemporarySpace = 'dropbox' | 'myStuff' | 'yourStuff';

/** With the operator's key; the place must be keyed, so that nobody else is the operator. */
export async function createTenant(place: TargetPlace): Promise<Tenant> {
  const operator = new Caller(place);
  const team = newName('t').replaceAll('-', '');
  const workspace = `org-${team}`;
  const spareAgent = async () => String((await operator.ok('agent_spawn', { team, name: 'spare' })).agentId);
  const agent = await spareAgent();
  const member = async (role: string): Promise<Member> => {
    const id = `${team}-${role}`;
    await operator.ok('svc_habitat_addRole', { workspaceId: workspace, userId: id, role });
    return { id, token: String((await operator.ok('svc_habitat_mintToken', { agentId: id })).token) };
  };
  const [admin, viewer] = [await member('admin'), await member('viewer')];
  const asAdmin = callerOf(place, admin.token);
  await gate(operator, asAdmin, team, workspace);
  const { id: org } = await asAdmin.ok('teams_createOrg', { name: team });
  const { id: dept } = await asAdmin.ok('teams_createDept', { name: 'd', org });
  await asAdmin.ok('teams_assign', { agentId: viewer.id, org });
  await asAdmin.ok('svc_scenario_crew', { name: team, agents: 2 });
  const { taskId } = await asAdmin.ok('svc_sudo_createTask');
  const context = { workspace, supply: 1000 };
  const { id: listing } = await asAdmin.ok('market_list', { type: 'favor', title: team, context });
  const { tradeId } = await callerOf(place, viewer.token).ok('market_trade', { listingId: listing });
  const sold = await sellSkill(place, asAdmin, { title: team, workspace, buyer: viewer });
  const scope = { owner: `workspace:${workspace}` };
  await asAdmin.ok('consensus_create', { topic: team, options: ['yes', 'no'], minQuorum: 1000, scope });
  const { id: event } = await asAdmin.ok('lineage_record', { event: team });
  const remembered = { category: team, key: 'k', content: `of ${team} alone` };
  const { barcode: address } = await asAdmin.ok('svc_geometry_remember', remembered);
  const spareWork = async (): Promise<WorkPlace> => {
    const at = { stream: newName('q'), workspace };
    return { ...at, id: String((await asAdmin.ok('stream_enqueue', { ...at, task: 'x' })).id) };
  };
  return {
    spareWork,
    async takenWork() {
      const work = await spareWork();
      await asAdmin.ok('stream_poll', { stream: work.stream, workspace });
      return work;
    },
    team,
    workspace,
    admin,
    viewer,
    agent,
    event: String(event),
    address: String(address),
    async laidDown(space) {
      const name = newName('f');
      const to = space === 'yourStuff' ? { to: viewer.id } : {};
      await asAdmin.ok('svc_tmp_put', { space, name, content: 'x', ...to });
      return name;
    },
    org: String(org),
    dept: String(dept),
    task: String(taskId),
    listing: String(listing),
    trade: String(tradeId),
    ...sold,
    spareAgent,
    spareToken: async () => String((await asAdmin.ok('svc_habitat_mintToken', { agentId: agent })).tokenId),
  };
}

async function sellSkill(
  place: TargetPlace,
  seller: Caller,
  { title, workspace, buyer }: { readonly title: string; readonly workspace: string; readonly buyer: Member },
): Promise<Pick<Tenant, 'skill' | 'skillTrade'>> {
  await new Caller(place).ok('market_skill_gate', { value: true });
  const { id } = await seller.ok('market_skill_list', { title, context: { workspace, supply: 1000 } });
  const bought = { listingId: id, buyerId: buyer.id };
  const { tradeId } = await callerOf(place, buyer.token).ok('market_skill_buy', bought);
  return { skill: String(id), skillTrade: String(tradeId) };
}

/** Folders and an island that only members read and only admins write. */
async function gate(operator: Caller, admin: Caller, team: string, workspace: string): Promise<void> {
  const policy = { container: workspace, readableBy: [], writableBy: ['role:admin'] };
  for (const folder of [team, `geometry/${team}`])
    await operator.ok('svc_habitat_setPolicy', { resource: `brain:svc/${folder}`, policy });
  for (const resource of [`_island:${team}`, `_island:${team}-gone`]) {
    await operator.ok('svc_habitat_setPolicy', { resource, policy });
  }
  await admin.ok('brain_write', { name: `${team}/file`, content: `of ${team}` });
  await admin.ok('svc_create_island', { name: team, triggers: [team], content: `of ${team}` });
}

export function callerOf(place: TargetPlace, token: string, headers: Readonly<Record<string, string>> = {}): Caller {
  return new Caller(place, { key: null, headers: { 'x-habitat-token': token, ...headers } });
}
