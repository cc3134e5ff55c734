-- AlterTable
ALTER TABLE "habitat"."trust" ADD COLUMN     "quarantined_in" TEXT;
