import { describeRegistry } from '@svc/testing/registry.contract.ts';
import { openHabitatTestBed } from '../testing/habitat-test-bed.ts';

describeRegistry('habitat', async () => {
  const bed = await openHabitatTestBed();
  const node = await bed.start();
  return {
    ask: node.registry,
    async grant(userId, workspaceId, role) {
      const { known } = await node.registry.roles({ userId, workspaceId });
      if (!known) await node.call('svc_habitat_createWorkspace', { workspaceId });
      await node.call('svc_habitat_addRole', { workspaceId, userId, role });
    },
    async mint(agentId, { bound, readOnly } = {}) {
      const limits = {
        ...(bound === undefined ? {} : { workspace: bound }),
        ...(readOnly === true ? { readOnly } : {}),
      };
      const { token } = await node.call('svc_habitat_mintToken', { agentId, ...limits });
      return String(token);
    },
    async revoke(token) {
      await node.call('svc_habitat_revokeToken', { tokenOrHash: token });
    },
    async setPolicy(resource, policy) {
      await node.call('svc_habitat_setPolicy', { resource, policy });
    },
    async close() {
      await node.stop();
      await bed[Symbol.asyncDispose]();
    },
  };
});
