//! Small logs of requests, and the images that a crash may leave of them.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::super::Model;
use super::{
    Action, Block, Content, Epoch, Journal, Place, Pressure, Request, SubsetBudget, epochs, subsets,
};

const BLOCK: u64 = 4096;

fn write(offset: u64, bytes: u64, at: u64) -> Action {
    Action::Write { offset, bytes, at }
}

fn requests(actions: &[Action]) -> Vec<Request> {
    let numbered = actions.iter().zip(1..);
    let request = |(action, done_ns): (&Action, u64)| Request {
        done_ns,
        action: *action,
    };
    numbered.map(request).collect()
}

#[test]
fn what_a_file_system_does_not_tell_apart_is_run_only_where_it_is_asked_for() {
    let on = |asked: &[_], filesystem| Pressure::on(asked, filesystem).collect::<Vec<_>>();
    assert_eq!(on(&Pressure::ALL, Model::Btrfs), Pressure::ALL);
    let without = [Pressure::Fsync, Pressure::Timer, Pressure::None];
    assert_eq!(on(&Pressure::ALL, Model::Ext4), without);
    assert_eq!(on(&Pressure::ALL, Model::Xfs), without);
    assert_eq!(on(&[Pressure::Commit], Model::Xfs), [Pressure::Commit]);
}

#[test]
fn a_request_is_split_into_blocks_and_flushes_end_epochs() {
    let log = requests(&[
        Action::Flush,
        write(512, 8192, 100),
        Action::Flush,
        Action::Flush,
        Action::Discard {
            offset: 0,
            bytes: 1 << 20,
        },
    ]);
    let block = |offset, bytes, at| Block { offset, bytes, at };
    assert_eq!(
        epochs(&log, 99),
        [
            Epoch {
                blocks: vec![
                    block(512, 3584, Some(100)),
                    block(4096, 4096, Some(3684)),
                    block(8192, 512, Some(7780)),
                ],
                ended_ns: 3,
            },
            Epoch {
                blocks: vec![block(0, 1 << 20, None)],
                ended_ns: 99,
            },
        ]
    );
}

#[test]
fn few_blocks_have_all_subsets_and_many_a_budget() {
    let few = subsets(3, 0, SubsetBudget::default());
    assert!(few.all && few.kept.len() == 6, "{few:?}");
    assert!(subsets(1, 0, SubsetBudget::default()).kept.is_empty());
    assert!(subsets(0, 0, SubsetBudget::default()).kept.is_empty());
    let many = subsets(50, 3, SubsetBudget::default());
    let different: BTreeSet<_> = many.kept.iter().collect();
    assert_eq!((many.all, different.len()), (false, 40));
    let one_lost = |at: usize| -> Vec<bool> { (0..50).map(|block| block != at).collect() };
    assert!(many.kept.contains(&one_lost(0)) && many.kept.contains(&one_lost(49)));
    assert_eq!(
        many,
        subsets(50, 3, SubsetBudget::default()),
        "the seed decides"
    );
    let other = SubsetBudget {
        seed: 2,
        ..SubsetBudget::default()
    };
    assert_ne!(many, subsets(50, 3, other));
}

#[test]
fn the_hash_follows_the_content() {
    let block = |offset, bytes| Block {
        offset,
        bytes,
        at: Some(0),
    };
    let (a, b) = (vec![1; 4096], vec![2; 4096]);
    let mut one = Content::default();
    one.set(&block(0, BLOCK), Some(&a));
    let first = one.hash();
    one.set(&block(BLOCK, BLOCK), Some(&b));
    let both = one.hash();
    one.set(&block(BLOCK, BLOCK), Some(&a));
    assert_ne!(one.hash(), both);
    one.set(&block(BLOCK, BLOCK), Some(&b));
    assert_eq!(one.hash(), both);
    let mut other = Content::default();
    other.set(&block(BLOCK, BLOCK), Some(&b));
    assert_ne!(other.hash(), first);
    other.set(&block(0, BLOCK), Some(&a));
    assert_eq!(other.hash(), both);
    other.set(&block(512, 512), Some(&b[..512]));
    assert_ne!(other.hash(), both, "a part of a block");
    other.set(&block(0, BLOCK), Some(&a));
    assert_eq!(other.hash(), both, "the whole block again");
}

/// The begin of an ext4 image with a journal of 1,024 blocks from block 300.
fn superblock() -> Vec<u8> {
    let mut image = vec![0; 4096];
    let mut put =
        |at: usize, bytes: &[u8]| image[1024 + at..1024 + at + bytes.len()].copy_from_slice(bytes);
    put(0x38, &[0x53, 0xEF]);
    put(0x18, &[2]);
    put(0xFD, &[1]);
    put(0x10C, &[0x0A, 0xF3, 1, 0, 4, 0, 0, 0]);
    put(0x10C + 12, &[0, 0, 0, 0, 0, 4, 0, 0, 0x2C, 1, 0, 0]);
    image
}

#[test]
fn what_decides_about_a_transaction_is_told_from_what_is_in_it() {
    use Place::{Deciding, Log, Outside};
    let journal = Journal::of(&superblock()).unwrap();
    // Of each block its number, and what it begins with: a descriptor, a commit, a superblock, revoked blocks, others.
    let places = |blocks: &[(u64, Option<u8>)]| {
        let epoch = Epoch {
            blocks: (0_u64..)
                .zip(blocks)
                .map(|(at, (number, _))| Block {
                    offset: number * BLOCK,
                    bytes: BLOCK,
                    at: Some(at),
                })
                .collect(),
            ended_ns: 0,
        };
        journal.places(&epoch, |at| {
            Some(match blocks[usize::try_from(at).unwrap()].1 {
                Some(kind) => [0xc0, 0x3b, 0x39, 0x98, 0, 0, 0, kind],
                None => [7; 8],
            })
        })
    };
    let transaction = [(299, None), (301, Some(1)), (302, None), (303, Some(5))];
    assert_eq!(places(&transaction), [Outside, Log, Log, Log]);
    let ends = [(300, Some(4)), (1323, Some(2)), (1324, Some(2))];
    assert_eq!(places(&ends), [Deciding, Deciding, Outside]);
    let of = |offset: u64, bytes: u64, at: Option<u64>| {
        let blocks = vec![Block { offset, bytes, at }];
        let epoch = Epoch {
            blocks,
            ended_ns: 0,
        };
        journal.places(&epoch, |_| None)
    };
    assert_eq!(of(301 * BLOCK, BLOCK, None), [Deciding], "discarded");
    assert_eq!(of(301 * BLOCK, 512, Some(0)), [Deciding], "not a block");
    assert_eq!(of(0, 301 * BLOCK, None), [Deciding], "the begin of it");
    assert_eq!(of(301 * BLOCK, BLOCK, Some(0)), [Deciding], "not read");
    assert_eq!(Journal::of(&vec![0; 4096]), None);
    assert_eq!(Journal::of(&[]), None);
    for (at, byte, why) in [
        (0x10C + 6, 1, "a tree of extents is not read"),
        (0x5D, 4, "fast commits"),
    ] {
        let mut other = superblock();
        other[1024 + at] = byte;
        assert_eq!(Journal::of(&other), None, "{why}");
    }
}

/// The content of an image: of each sector of 512 bytes which byte of the log it begins with.
type Image = BTreeMap<u64, Option<u64>>;

fn apply(image: &mut Image, block: &Block) {
    for sector in 0..block.bytes / 512 {
        image.insert(
            block.offset / 512 + sector,
            block.at.map(|at| at + sector * 512),
        );
    }
}

/// At every moment: what was flushed is there, and any subset of what came after the flush.
fn obvious(log: &[Request]) -> BTreeSet<Image> {
    let mut images = BTreeSet::new();
    for moment in 0..=log.len() {
        let flush = log[..moment]
            .iter()
            .rposition(|request| request.action == Action::Flush);
        let durable = flush.map_or(0, |at| at + 1);
        let blocks = |range: &[Request]| -> Vec<Block> {
            let found = range.iter().flat_map(|request| match request.action {
                Action::Write { offset, bytes, at } => (0..bytes / BLOCK)
                    .map(|block| Block {
                        offset: offset + block * BLOCK,
                        bytes: BLOCK,
                        at: Some(at + block * BLOCK),
                    })
                    .collect::<Vec<_>>(),
                Action::Discard { offset, bytes } | Action::Zero { offset, bytes } => {
                    vec![Block {
                        offset,
                        bytes,
                        at: None,
                    }]
                }
                Action::Flush => Vec::new(),
            });
            found.collect()
        };
        let mut certain = Image::new();
        for block in blocks(&log[..durable]) {
            apply(&mut certain, &block);
        }
        let open = blocks(&log[durable..moment]);
        for set in 0..1_u32 << open.len() {
            let mut image = certain.clone();
            for (at, block) in open.iter().enumerate() {
                if set >> at & 1 == 1 {
                    apply(&mut image, block);
                }
            }
            images.insert(image);
        }
    }
    images
}

/// What exploring tries: of each epoch none, all, and the subsets.
fn explored(log: &[Request]) -> BTreeSet<Image> {
    let mut images = BTreeSet::from([Image::new()]);
    let mut base = Image::new();
    for (number, epoch) in epochs(log, u64::MAX).iter().enumerate() {
        let some = subsets(epoch.blocks.len(), number, SubsetBudget::default());
        assert!(some.all, "small logs have few blocks");
        for kept in some.kept {
            let mut image = base.clone();
            for (block, _) in epoch.blocks.iter().zip(&kept).filter(|(_, kept)| **kept) {
                apply(&mut image, block);
            }
            images.insert(image);
        }
        for block in &epoch.blocks {
            apply(&mut base, block);
        }
        images.insert(base.clone());
    }
    images
}

proptest! {
    #[test]
    fn every_image_of_a_small_log_is_explored(
        kinds in prop::collection::vec((0_u8..8, 0_u64..4, 1_u64..3), 0..9),
    ) {
        let mut at = 0;
        let mut open = 0;
        let mut actions = Vec::new();
        for (kind, place, blocks) in kinds {
            let (offset, bytes) = (place * BLOCK, blocks * BLOCK);
            // No more than 7 blocks between flushes.
            let action = match kind {
                0 | 1 => Action::Flush,
                _ if open + blocks > 7 => Action::Flush,
                2 => Action::Discard { offset, bytes },
                3 => Action::Zero { offset, bytes },
                _ => write(offset, bytes, at),
            };
            at += bytes;
            open = if action == Action::Flush { 0 } else { open + blocks };
            actions.push(action);
        }
        let log = requests(&actions);
        prop_assert_eq!(explored(&log), obvious(&log));
    }

    #[test]
    fn equal_hashes_are_equal_contents(
        writes in prop::collection::vec((0_u64..3, 0_u64..8, 1_u64..9, any::<bool>()), 0..6),
        others in prop::collection::vec((0_u64..3, 0_u64..8, 1_u64..9, any::<bool>()), 0..6),
    ) {
        let made = |writes: &[(u64, u64, u64, bool)]| {
            let (mut content, mut image) = (Content::default(), Image::new());
            for (place, sector, sectors, is_zero) in writes {
                let sectors = (*sectors).min(8 - sector);
                let block = Block { offset: place * BLOCK + sector * 512, bytes: sectors * 512, at: (!is_zero).then_some(0) };
                let bytes: Vec<u8> = (0..sectors).flat_map(|at| [u8::try_from(at).unwrap() + 1; 512]).collect();
                content.set(&block, (!is_zero).then_some(bytes.as_slice()));
                apply(&mut image, &block);
            }
            (content.hash(), image)
        };
        let (one, other) = (made(&writes), made(&others));
        if one.0 == other.0 {
            prop_assert_eq!(one.1, other.1);
        }
    }
}
