/** Clusters on one NATS, which their names alone keep apart: they vote on one topic while the process that counts is killed. */
import { expect } from 'vitest';
import { clusterDeployment, type Deployment, hashAt, member, untilHeard } from '../instruments/deployments.ts';
import { insisted } from '../instruments/persistent-calls.ts';
import { killed } from '../targets/service-process.ts';
import { newName, verifies } from '../verifies.ts';

const BALLOTS_EACH_SIDE_OF_THE_KILL = 10;
const FROM_ABROAD = 2;

const nameOf = ({ environment }: Deployment): string => String(environment['SVC_NODE_NAME']);

async function voteAtHome({ caller }: Deployment, topic: string): Promise<void> {
  for (let ballot = 0; ballot < BALLOTS_EACH_SIDE_OF_THE_KILL; ballot += 1) {
    await insisted(caller, 'consensus_vote', { topic, choice: 'yes', agentId: newName('voter') });
  }
}

async function livingAgoras({ caller }: Deployment): Promise<number> {
  const { nodes } = await caller.ok<{ nodes: { service: string; status: string }[] }>('nodes_list');
  return nodes.filter(({ service, status }) => service === 'agora' && status === 'alive').length;
}

verifies(
  'agora:federation:clusters',
  async ({ report }) => {
    const alpha = await clusterDeployment(member('alpha', 'al'), { apart: ['agora'] });
    const beside = alpha.target.servers;
    const [beta, gamma] = await Promise.all([
      clusterDeployment(member('beta', 'bea'), { beside }),
      clusterDeployment(member('gamma', 'gus'), { beside }),
    ]);
    const everybody = [alpha, beta, gamma];
    for (const by of everybody) {
      for (const other of everybody) if (by !== other) await untilHeard(by.caller, nameOf(other));
      await expect.poll(() => livingAgoras(by)).toBe(1);
    }

    const topic = newName('lunch');
    const minQuorum = 2 * BALLOTS_EACH_SIDE_OF_THE_KILL + FROM_ABROAD;
    await alpha.caller.ok('consensus_create', { topic, options: ['yes', 'no'], minQuorum, agentId: 'ann' });
    await voteAtHome(alpha, topic);
    for (const { caller } of [beta, gamma]) {
      expect(await caller.ok('consensus_get', { topic })).toMatchObject({ code: 'E_TOPIC_ABSENT' });
    }
    const voting = [
      voteAtHome(alpha, topic),
      ...[beta, gamma].map(({ caller }) => insisted(caller, 'agora_vote', { node: 'alpha', topic, outcome: 'yes' })),
    ];
    await killed(alpha.target.of('agora'));
    await Promise.all(voting);

    await insisted(alpha.caller, 'agora_push', { node: 'beta', topic });
    await insisted(gamma.caller, 'agora_pull', { node: 'alpha', topic });
    const hashes = await Promise.all(everybody.map((one) => hashAt(one, topic)));
    expect(new Set(hashes).size).toBe(1);
    for (const { caller } of everybody) {
      expect(await caller.ok('consensus_get', { topic })).toMatchObject({
        status: 'passed',
        owner: 'alpha',
        votes: { length: minQuorum },
      });
    }
    report(`3 clusters on one NATS, agora killed while they voted: one hash of ${minQuorum} ballots`);
  },
  { only: 'cluster' },
);
