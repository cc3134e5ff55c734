-- AlterTable
ALTER TABLE "brain"."brain_processes" ADD COLUMN     "deployment" TEXT;
