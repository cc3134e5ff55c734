import { describeTools } from '@svc/testing/tools.contract.ts';
import { allTools } from './all.ts';

describeTools('escrow', allTools);
