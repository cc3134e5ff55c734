-- AlterTable
ALTER TABLE "agora"."topics" ADD COLUMN     "decision_bound_sig" TEXT;
