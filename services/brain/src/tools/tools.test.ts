import { describeTools } from '@svc/testing/tools.contract.ts';
import { brainTools } from './all.ts';

describeTools('brain', brainTools);
