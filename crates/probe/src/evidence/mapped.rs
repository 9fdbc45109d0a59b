//! Maps of BPF programs in this process's memory: what programs write is seen without a system
//! call, and what is written here is seen by programs. Wraps mmap(2).

use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::ptr::NonNull;

/// Elements of type `T`, `stride` bytes apart, that a BPF program shares.
pub struct Mapped<T> {
    address: NonNull<c_void>,
    length: NonZeroUsize,
    stride: usize,
    count: usize,
    elements: std::marker::PhantomData<T>,
}

// SAFETY: the memory is reached through volatile reads and writes alone, from any thread.
unsafe impl<T: Send> Send for Mapped<T> {}
// SAFETY: as above; every method that writes says who else may not.
unsafe impl<T: Send> Sync for Mapped<T> {}

impl<T> Mapped<T> {
    /// Maps an array map of `count` values, `stride` bytes each, of which a `T` is the beginning.
    ///
    /// # Errors
    /// The kernel refuses the mapping, or a value is too short for a `T`.
    pub fn new(map: impl AsFd, stride: usize, count: usize) -> io::Result<Self> {
        if stride < size_of::<T>() || !stride.is_multiple_of(8) {
            return Err(io::Error::other(format!("values of {stride} bytes cannot hold {} bytes", size_of::<T>())));
        }
        let length = NonZeroUsize::new(stride * count).ok_or_else(|| io::Error::other("an empty map"))?;
        // SAFETY: a new shared mapping at an address of the kernel's choice; it is unmapped in drop only.
        let address = unsafe { mmap(None, length, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED, map, 0) }?;
        Ok(Self { address, length, stride, count, elements: std::marker::PhantomData })
    }

    /// Address of an element.
    ///
    /// # Panics
    /// There is no such element.
    pub fn pointer(&self, index: usize) -> *mut T {
        assert!(index < self.count, "element {index} of {}", self.count);
        // SAFETY: within the mapping, by the check above and that of the stride in `new`.
        unsafe { self.address.as_ptr().cast::<u8>().add(index * self.stride).cast() }
    }

    /// Elements.
    pub fn count(&self) -> usize {
        self.count
    }
}

impl<T: Copy> Mapped<T> {
    /// A copy of an element. A program may write meanwhile: each field is whole, together they may
    /// be of two moments.
    pub fn read(&self, index: usize) -> T {
        // SAFETY: `pointer` is valid and aligned (strides are multiples of 8, mappings of pages); any bytes
        // are a valid `T` of the layouts used here, which are integers only.
        unsafe { self.pointer(index).read_volatile() }
    }

    /// Writes an element whole. No program may be using it.
    pub fn write(&self, index: usize, value: T) {
        // SAFETY: as in `read`.
        unsafe { self.pointer(index).write_volatile(value) }
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, and no pointer into it outlives `self`.
        let _ = unsafe { munmap(self.address, self.length.get()) };
    }
}
