import { describeWritersAtOnce } from '../../testing/writers-at-once.contract.ts';

describeWritersAtOnce();
