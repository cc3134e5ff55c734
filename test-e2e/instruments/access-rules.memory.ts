/** Rows of the access matrix: values, addresses, lineage. */
import { type AccessRule, everybody, members, writers } from './access-rule.ts';

const inWorkspace = ({ workspace }: { readonly workspace: string }) => ({ key: 'k', workspace });
/** Found by who may read the document. */
const located: AccessRule = {
  args: ({ address }) => ({ barcode: address }),
  viewer: 'found:true',
  admin: 'found:true',
  stranger: 'found:false',
  unknown: () => ({ barcode: NO_BARCODE }),
};
const NO_BARCODE = '9-00000-00000-00000-00000-0';

export const MEMORY: Record<string, AccessRule> = {
  svc_memory_state: members((tenant) => ({ ...inWorkspace(tenant), value: 1 }), 'RLS_DENIED'),
  svc_memory_recall: members(inWorkspace, 'RLS_DENIED', (fresh) => ({ key: 'k', workspace: fresh })),
  svc_memory_learn: writers((_tenant, fresh) => ({ key: `learned/${fresh}`, content: 'x' })),
  svc_memory_query: everybody(({ team }) => ({ key: `${team}/file` })),
  svc_memory_clear: {
    args: ({ workspace }) => ({ workspace }),
    viewer: 'FORBIDDEN',
    admin: 'served',
    stranger: 'FORBIDDEN',
    strangeAdmin: 'RLS_DENIED',
  },
  svc_memory_stats: members(
    ({ workspace }) => ({ workspace }),
    'RLS_DENIED',
    (fresh) => ({ workspace: fresh }),
  ),
  svc_memory_address: writers(() => ({ data: 'x' })),
  svc_memory_locate: located,
  brain_geo_store: writers((_tenant, fresh) => ({ key: fresh, data: 'x' })),
  brain_geo_load: located,
  brain_geo_list: everybody(),
  brain_geo_brains: everybody(),
  svc_geometry_init: everybody(),
  svc_geometry_remember: writers((_tenant, fresh) => ({ category: 'city', key: fresh, content: 'x' })),
  svc_geometry_recall: everybody(() => ({ brainPath: 'city/none' })),
  svc_geometry_knows: everybody(() => ({ key: 'none' })),
  lineage_record: everybody((_tenant, fresh) => ({ event: fresh })),
  lineage_trace: members(
    ({ event }) => ({ id: event }),
    'E_LINEAGE_ABSENT',
    (fresh) => ({ id: fresh }),
  ),
  lineage_stats: everybody(),
};
